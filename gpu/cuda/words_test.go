//go:build emulator || cuda

package cuda

import (
	"math"
	"slices"
	"testing"

	"golang.org/x/crypto/chacha20"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// put copies words to newly allocated memory of a device, which is freed at the end of the test.
func put(t testing.TB, d Device, words []uint64) uint64 {
	t.Helper()
	p, err := d.Alloc(8 * len(words))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Free(p) })
	if err := d.Write(p, words); err != nil {
		t.Fatal(err)
	}
	return p
}

// output runs a kernel and returns its output, which has the given number of words. It allocates
// memory for the output. The kernel gets its address as the first argument.
func output(t testing.TB, d Device, words int, kernel string, blocks, threads, shared int, arguments ...uint64) []uint64 {
	t.Helper()
	out := make([]uint64, words)
	p := put(t, d, out)
	if err := d.Launch(kernel, blocks, threads, 8*shared, append([]uint64{p}, arguments...)...); err != nil {
		t.Fatal(err)
	}
	if err := d.Read(out, p); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWordsAreThoseOfChaCha20(t *testing.T) {
	src := seeded.Stream(1, "words")
	for i, c := range []struct{ from, count, threads int }{
		{0, 1, 1}, {0, 8, 32}, {3, 1000, 97}, {8, 4096, 128}, {7_000_001, 33, 31}, {1 << 34, 17, 64},
	} {
		var key [32]byte
		words := make([]uint64, 4)
		src.Fill(words)
		for k := range key {
			key[k] = byte(words[k/8] >> (k % 8 * 8))
		}
		nonce := []uint32{uint32(src.Uint64()), uint32(src.Uint64()), uint32(src.Uint64())}
		var n [12]byte
		for k := range n {
			n[k] = byte(nonce[k/4] >> (k % 4 * 8))
		}
		cipher, err := chacha20.NewUnauthenticatedCipher(key[:], n[:])
		if err != nil {
			t.Fatal(err)
		}
		cipher.SetCounter(uint32(c.from / 8))
		bytes := make([]byte, 8*(c.from%8+c.count))
		cipher.XORKeyStream(bytes, bytes)
		d := devices[i%len(devices)]
		got := output(t, d, c.count, "draw_words", (c.count+c.threads-1)/c.threads, c.threads, 0,
			put(t, d, words), uint64(nonce[0]), uint64(nonce[1]), uint64(nonce[2]), uint64(c.from), uint64(c.count))
		for k, w := range got {
			var want uint64
			for b := range 8 {
				want |= uint64(bytes[8*(c.from%8+k)+b]) << (8 * b)
			}
			if w != want {
				t.Fatalf("case %d: word %d is %016x, want %016x", i, k, w, want)
			}
		}
	}
}

// mechanism returns a sampled sum that supports plans.
func mechanism(t testing.TB, sampling dpmech.Sampling, records, steps, dim int, clip, noise float64) *dpmech.SampledSum {
	t.Helper()
	m, err := dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: sampling, Records: records, Steps: steps, Dim: dim, Clip: clip, NoiseMultiplier: noise, Adjacency: accountant.ReplaceOne,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// plan returns a plan with all steps of the mechanism m. Two plans with the same index have the
// same keys.
func plan(t testing.TB, m *dpmech.SampledSum, index uint64) *dpmech.Plan {
	t.Helper()
	p, err := m.Begin().Plan(m.Steps(), seeded.Streams(3, "plan", index), seeded.Stream(3, "plan, draws", index))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wordsOf(t testing.TB, p *dpmech.Plan) []uint64 {
	t.Helper()
	w, err := p.Words(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestBatchesAreThoseOfThePlan(t *testing.T) {
	poisson := func(rate float64) dpmech.Sampling { return dpmech.Poisson{Rate: rate, Selection: dpmech.Feistel} }
	fixed := func(batch int) dpmech.Sampling {
		return dpmech.WithoutReplacement{Batch: batch, Selection: dpmech.Feistel}
	}
	for i, c := range []struct {
		records int
		of      dpmech.Sampling
	}{
		{1, poisson(0.5)},
		{1, poisson(1)},
		{1, fixed(0)},
		{1, fixed(1)},
		{1, dpmech.FullBatch{}},
		{2, poisson(0.01)},
		{3, fixed(2)},
		{64, poisson(0.3)},
		{127, fixed(127)},
		{255, poisson(0.9)},
		{256, poisson(0.1)},
		{257, fixed(1)},
		{500, dpmech.FullBatch{}},
		{1000, poisson(0)},
		{1001, poisson(1)},
		{4097, fixed(4096)},
		{39_073, poisson(0.005)},
		{65_536, fixed(300)},
		{65_537, poisson(0.01)},
		{100_000, poisson(0.5)},
		{100_000, fixed(99_999)},
		{1, dpmech.Poisson{Rate: 0.5}},
		{3, dpmech.WithoutReplacement{Batch: 2}},
		{1000, dpmech.Poisson{Rate: 0}},
		{1001, dpmech.Poisson{Rate: 1}},
		{4097, dpmech.WithoutReplacement{Batch: 4096}},
		{39_073, dpmech.Poisson{Rate: 0.005}},
	} {
		const steps = 5
		m := mechanism(t, c.of, c.records, steps, 1, 1, 4)
		d := devices[i%len(devices)]
		stride := 1 + m.MaxBatch()
		got := output(t, d, stride*steps, "draw_batches", steps, []int{32, 96, 256, 1024}[i%4], batchWords,
			put(t, d, wordsOf(t, plan(t, m, uint64(i)))), uint64(stride))
		twin := plan(t, m, uint64(i))
		for step := range steps {
			checkBatch(t, twin, got[stride*step:][:stride], c.records, step)
		}
	}
}

func checkBatch(t *testing.T, twin *dpmech.Plan, got []uint64, records, step int) {
	t.Helper()
	err := twin.Next(make([]int64, 1), func(batch []uint32, _ *dpmech.Accumulator) error {
		if got[0] != uint64(len(batch)) {
			t.Errorf("%d records, step %d: a batch of %d, want %d", records, step, got[0], len(batch))
			return nil
		}
		for k, record := range batch {
			if got[1+k] != uint64(record) {
				t.Errorf("%d records, step %d: number %d is record %d, want %d", records, step, k, got[1+k], record)
				return nil
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The test checks the batch size in a case that is too rare to occur by chance: the highest word of
// the random draw equals the highest word of an entry in the table of batch sizes, so the lower
// words decide. The batch size must be the index of the first entry above the draw.
func TestSizesWithTheHighestWordOfTheDraw(t *testing.T) {
	m := mechanism(t, dpmech.Poisson{Rate: 0.3, Selection: dpmech.Feistel}, 40, 1, 1, 1, 4)
	d := devices[0]
	words := wordsOf(t, plan(t, m, 1))
	const count, key, sizes = 11, 14, 1378
	draw := output(t, d, 4, "draw_words", 1, 4, 0, put(t, d, words[key:key+4]), 0, 0, 0, 0, 4)
	n := int(words[count])
	if words[sizes+n-1] != math.MaxUint64 {
		t.Fatalf("the table is not where the test looks for it")
	}
	src := seeded.Stream(1, "ties")
	for range 300 {
		at, ties := int(src.Uint64n(uint64(n-3))), int(src.Uint64n(4))
		for i := range n - 1 {
			switch {
			case i < at:
				words[sizes+i] = draw[0] - 1
			case i < at+ties:
				words[sizes+i] = draw[0]
			default:
				words[sizes+i] = math.MaxUint64
			}
		}
		entries := make([][]uint64, n)
		for i := range entries {
			rest := words[sizes+n+3*i:][:3]
			for k := range rest {
				rest[k] = draw[1+k] - 1 + src.Uint64n(3)
			}
			entries[i] = append([]uint64{words[sizes+i]}, rest...)
		}
		slices.SortStableFunc(entries[at:at+ties], func(a, b []uint64) int { return slices.Compare(a, b) })
		for i, e := range entries {
			copy(words[sizes+n+3*i:], e[1:])
		}
		want := slices.IndexFunc(entries, func(e []uint64) bool { return slices.Compare(e, draw) > 0 })
		got := output(t, d, 1+m.MaxBatch(), "draw_batches", 1, 32, batchWords, put(t, d, words), uint64(1+m.MaxBatch()))
		if got[0] != uint64(want) {
			t.Fatalf("a batch of %d, want %d", got[0], want)
		}
	}
}

func TestNoiseIsThatOfThePlan(t *testing.T) {
	for i, c := range []struct{ dim, threads int }{{1, 1}, {2, 32}, {1023, 97}, {16_384, 128}} {
		const steps = 7
		m := mechanism(t, dpmech.FullBatch{}, 1, steps, c.dim, 0.7, []float64{0.01, 1.3, 40}[i%3])
		d := devices[i%len(devices)]
		memory := put(t, d, wordsOf(t, plan(t, m, uint64(i))))
		twin := plan(t, m, uint64(i))
		want, normals := make([]int64, c.dim), make([]float64, c.dim)
		for step := range uint64(steps) {
			undecided := put(t, d, []uint64{0})
			blocks := (c.dim + c.threads - 1) / c.threads
			got := output(t, d, c.dim, "draw_noise", blocks, c.threads, 0, undecided, memory, step, uint64(c.dim))
			err := twin.Next(want, func([]uint32, *dpmech.Accumulator) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			for j, n := range want {
				if int64(got[j]) != n {
					t.Fatalf("%d numbers, step %d: sample %d is %d, want %d", c.dim, step, j, int64(got[j]), n)
				}
			}
			twin.Normals(normals)
			bits := output(t, d, c.dim, "draw_normals", blocks, c.threads, 0, memory, step, uint64(c.dim))
			for j, z := range normals {
				if math.Float64frombits(bits[j]) != z {
					t.Fatalf("%d numbers, step %d: normal number %d is %v, want %v", c.dim, step, j, math.Float64frombits(bits[j]), z)
				}
			}
		}
	}
}

// The device must report noise samples that it cannot decide. It decides a sample by two bounds on
// a density. The test sets these bounds so far apart that many samples are undecided.
func TestDeviceReportsUndecidedSamples(t *testing.T) {
	m := mechanism(t, dpmech.FullBatch{}, 1, 1, 16_384, 1, 2)
	d := devices[0]
	words := wordsOf(t, plan(t, m, 1))
	for _, c := range []struct{ slack, least, most uint64 }{{10, 0, 0}, {1 << 58, 20, 500}} {
		words[slackWord] = c.slack
		open := put(t, d, []uint64{0})
		output(t, d, 16_384, "draw_noise", 128, 128, 0, open, put(t, d, words), 0, 16_384)
		count := make([]uint64, 1)
		if err := d.Read(count, open); err != nil {
			t.Fatal(err)
		}
		if count[0] < c.least || count[0] > c.most {
			t.Errorf("with bounds that are off by %d units, %d of 16384 samples are undecided, want %d to %d", c.slack, count[0], c.least, c.most)
		}
	}
}

// slackWord is the index, among the words of a plan, of the density's error bound (see
// TestDeviceReportsUndecidedSamples).
const slackWord = 9
