package dpmech_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func newSampler(t testing.TB, s dpmech.Sampling, records int) dpmech.Sampler {
	t.Helper()
	sampler, err := s.Sampler(records)
	check(t, err)
	return sampler
}

// checkBatch fails the test if batch is not a set of records of s, or if its size is not allowed.
func checkBatch(t testing.TB, s dpmech.Sampler, batch []uint32) {
	t.Helper()
	if len(batch) > s.MaxBatch() {
		t.Fatalf("a batch has %d records, more than %d", len(batch), s.MaxBatch())
	}
	seen := make(map[uint32]bool, len(batch))
	for _, i := range batch {
		if int(i) >= s.Records() || seen[i] {
			t.Fatalf("record %d of %d is out of range or in the batch twice", i, s.Records())
		}
		seen[i] = true
	}
}

// samplings returns samplings of n records: every kind of sampling, both selections, and batches of
// none, some and all of the records.
func samplings(n int) map[string]dpmech.Sampling {
	all := map[string]dpmech.Sampling{"full": dpmech.FullBatch{}}
	for _, selection := range []dpmech.Selection{dpmech.Exact, dpmech.Feistel} {
		for _, rate := range []float64{0, 0.1, 0.37, 0.5, 0.8, 1} {
			all[fmt.Sprintf("poisson %g %v", rate, selection)] = dpmech.Poisson{Rate: rate, Selection: selection}
		}
		for _, batch := range []int{0, 1, n / 5, n / 2, n/2 + 1, n - 1, n} {
			all[fmt.Sprintf("fixed %d %v", batch, selection)] = dpmech.WithoutReplacement{Batch: batch, Selection: selection}
		}
	}
	for _, steps := range []int{1, 2, 7} {
		all[fmt.Sprintf("allocation %d", steps)] = dpmech.RandomAllocation{Steps: steps, Picks: 1}
		all[fmt.Sprintf("allocation %d of %d", (steps+1)/2, steps)] = dpmech.RandomAllocation{Steps: steps, Picks: (steps + 1) / 2}
		all[fmt.Sprintf("permutation %d", steps)] = dpmech.Permutation{Batches: min(steps, n)}
	}
	return all
}

func TestBatchesAreSets(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000} {
		for name, sampling := range samplings(n) {
			sampler := newSampler(t, sampling, n)
			src := seeded.Stream(1, name, uint64(n))
			var batch []uint32
			for range 20 {
				batch = sampler.Next(batch[:0], src)
				checkBatch(t, sampler, batch)
			}
		}
	}
}

// Each record must be in the right number of an epoch's batches.
func TestEpochs(t *testing.T) {
	for _, n := range []int{1, 2, 10, 997} {
		for _, c := range []struct {
			sampling dpmech.Sampling
			picks    int
		}{
			{dpmech.RandomAllocation{Steps: 9, Picks: 1}, 1},
			{dpmech.RandomAllocation{Steps: 9, Picks: 4}, 4},
			{dpmech.RandomAllocation{Steps: 9, Picks: 9}, 9},
			{dpmech.Permutation{Batches: min(n, 9)}, 1},
			{dpmech.Permutation{Batches: n}, 1},
		} {
			sampler := newSampler(t, c.sampling, n)
			src := seeded.Stream(2, "epochs", uint64(n))
			for range 3 {
				times := make([]int, n)
				for range sampler.Steps() {
					batch := sampler.Next(nil, src)
					checkBatch(t, sampler, batch)
					for _, i := range batch {
						times[i]++
					}
				}
				if least, most := slices.Min(times), slices.Max(times); least != c.picks || most != c.picks {
					t.Errorf("%#v: records are in %d to %d batches of an epoch, want %d", c.sampling, least, most, c.picks)
				}
			}
		}
	}
}

func TestSamplersAllocateNothing(t *testing.T) {
	const n = 1000
	for name, sampling := range samplings(n) {
		sampler := newSampler(t, sampling, n)
		src := seeded.Stream(3, name)
		dst := make([]uint32, 0, sampler.MaxBatch())
		if allocations := testing.AllocsPerRun(300, func() { sampler.Next(dst, src) }); allocations != 0 {
			t.Errorf("%s: a step allocates %v times", name, allocations)
		}
	}
}

func TestNextAppends(t *testing.T) {
	for name, sampling := range samplings(20) {
		sampler := newSampler(t, sampling, 20)
		src := seeded.Stream(3, "append")
		for range 10 {
			batch := sampler.Next([]uint32{77}, src)
			if batch[0] != 77 {
				t.Fatalf("%s: the content of dst is lost", name)
			}
			checkBatch(t, sampler, batch[1:])
		}
	}
}

// The marks that prevent repeated records have eight bits, and are reused after 255 batches. So the
// test draws more batches than that.
func TestManyBatches(t *testing.T) {
	sampler := newSampler(t, dpmech.WithoutReplacement{Batch: 10}, 20)
	src := seeded.Stream(3, "many")
	var dst []uint32
	for range 2000 {
		dst = sampler.Next(dst[:0], src)
		checkBatch(t, sampler, dst)
	}
}

// Each index must result from the same number of the 2^32 possible draws. The sampler rejects a
// draw if its product with n is too low modulo 2^32. A test of frequencies could not find an error
// in the rejection, because it would be too small.
func TestSelectionIsEven(t *testing.T) {
	src := seeded.Stream(3, "even")
	// For an n that is not a power of two, the draw 0 is rejected.
	for _, n := range []uint64{3, 7, 1000, 39_073, 1<<20 - 3} {
		refused, indices := 1<<32%n, dpmech.Indices(int(n))
		for range 2000 {
			// Several draws give this index, and first is the smallest of them. Its product with n
			// is the lowest modulo 2^32, so only draws near first can be rejected.
			index := src.Uint64n(n)
			first := (index<<32 + n - 1) / n
			for draw := max(first, 2) - 2; draw < min(first+3, 1<<32); draw++ {
				var want []uint32
				if product := draw * n; product%(1<<32) >= refused {
					want = []uint32{uint32(product >> 32)}
				}
				low, high := indices(2, draw), indices(2, draw<<32)
				if !slices.Equal(low, want) || !slices.Equal(high, want) {
					t.Fatalf("n = %d: draw %d gives %v and %v, want %v", n, draw, low, high, want)
				}
			}
		}
	}
}

// The test checks the distribution of the number of steps between two draws of a record. If a mark
// were left over from an earlier step, it would keep a record out of a batch.
func TestNothingIsLeftOfEarlierSteps(t *testing.T) {
	const n, steps, lags = 500, 200_000, 300
	for _, selection := range bothSelections {
		sampler := newSampler(t, dpmech.WithoutReplacement{Batch: 1, Selection: selection}, n)
		src := seeded.Stream(3, "lags")
		var drawn []uint32
		for range steps {
			drawn = sampler.Next(drawn, src)
		}
		observed, expected := make([]float64, lags), make([]float64, lags)
		for lag := range lags {
			for i, record := range drawn[lag+1:] {
				if drawn[i] == record {
					observed[lag]++
				}
			}
			expected[lag] = float64(steps-lag-1) / n
		}
		if p := chiSquare(observed, expected); p < rejectBelow {
			t.Errorf("%v: χ² rejects the times between two draws of a record, p = %.2g", selection, p)
		}
	}
}

func TestBatchSizes(t *testing.T) {
	for _, c := range []struct {
		sampling dpmech.Sampling
		records  int
		sizes    []int
		mean     float64
	}{
		{dpmech.Permutation{Batches: 3}, 8, []int{3, 3, 2, 3, 3, 2}, 8.0 / 3},
		{dpmech.Permutation{Batches: 2}, 2, []int{1, 1}, 1},
		{dpmech.WithoutReplacement{Batch: 5}, 8, []int{5, 5}, 5},
		{dpmech.FullBatch{}, 8, []int{8, 8}, 8},
		{dpmech.FullBatch{}, 0, []int{0}, 0},
		{dpmech.Poisson{Rate: 1}, 8, []int{8, 8}, 8},
		{dpmech.Poisson{Rate: 0}, 8, []int{0, 0}, 0},
		{dpmech.Poisson{Rate: 0.5}, 0, []int{0, 0}, 0},
		{dpmech.RandomAllocation{Steps: 1, Picks: 1}, 8, []int{8, 8}, 8},
		{dpmech.RandomAllocation{Steps: 2, Picks: 2}, 8, []int{8, 8}, 8},
		{dpmech.RandomAllocation{Steps: 3, Picks: 1}, 0, []int{0, 0, 0, 0}, 0},
	} {
		sampler := newSampler(t, c.sampling, c.records)
		src := seeded.Stream(3, "sizes")
		for step, want := range c.sizes {
			if got := len(sampler.Next(nil, src)); got != want {
				t.Errorf("%#v: batch %d has %d records, want %d", c.sampling, step, got, want)
			}
		}
		if got := sampler.MeanBatch(); got != c.mean {
			t.Errorf("%#v: mean %g, want %g", c.sampling, got, c.mean)
		}
	}
}

func TestSamplingErrors(t *testing.T) {
	for _, c := range []struct {
		sampling dpmech.Sampling
		records  int
		want     string
	}{
		{dpmech.Poisson{Rate: -0.1}, 10, "rate must lie in [0, 1], got -0.1"},
		{dpmech.Poisson{Rate: math.NaN()}, 10, "rate must lie in [0, 1]"},
		{dpmech.Poisson{Rate: 0.5}, -1, "number of records must lie in [0, 2147483648], got -1"},
		{dpmech.Poisson{Rate: 0.5}, 1<<31 + 1, "number of records"},
		{dpmech.Poisson{Rate: 0.5, Selection: 2}, 10, "unknown selection 2: use exact or feistel"},
		{dpmech.WithoutReplacement{Batch: 11}, 10, "size of a batch must lie in [0, 10]"},
		{dpmech.WithoutReplacement{Batch: -1}, 10, "size of a batch"},
		{dpmech.WithoutReplacement{}, 0, "number of records must lie in [1,"},
		{dpmech.WithoutReplacement{Selection: -1}, 1, "unknown selection"},
		{dpmech.RandomAllocation{Steps: 3, Picks: 4}, 10, "got 4 picks of 3 steps"},
		{dpmech.RandomAllocation{Steps: 3}, 10, "got 0 picks"},
		{dpmech.RandomAllocation{Steps: 1 << 30, Picks: 1 << 20}, 1 << 20, "take too much memory"},
		{dpmech.RandomAllocation{Steps: 3, Picks: 1}, -1, "number of records"},
		{dpmech.Permutation{Batches: 11}, 10, "number of batches must lie in [1, 10]"},
		{dpmech.Permutation{}, 10, "number of batches"},
		{dpmech.Permutation{Batches: 1}, 0, "number of records"},
		{dpmech.FullBatch{}, -1, "number of records"},
	} {
		if _, err := c.sampling.Sampler(c.records); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#v of %d: error %v, want %q", c.sampling, c.records, err, c.want)
		}
	}
}

// Each sampler must return the event of its own sampling, and an error for an adjacency without a
// bound.
func TestSamplerEvents(t *testing.T) {
	const n, sigma, steps = 30, 1.5, 7
	for _, c := range []struct {
		sampling  dpmech.Sampling
		adjacency accountant.Adjacency
		want      accountant.Event // nil if there is no bound
	}{
		{dpmech.Poisson{Rate: 0.2}, accountant.AddRemove, accountant.Repeated{Event: accountant.Poisson{Rate: 0.2, Sigma: sigma, Adjacency: accountant.AddRemove}, Times: 7}},
		{dpmech.Poisson{Rate: 0.2}, accountant.ReplaceOne, accountant.Repeated{Event: accountant.Poisson{Rate: 0.2, Sigma: sigma, Adjacency: accountant.ReplaceOne}, Times: 7}},
		{dpmech.WithoutReplacement{Batch: 9}, accountant.ReplaceOne, accountant.Repeated{Event: accountant.WithoutReplacement{Rate: math.Nextafter(0.3, 1), Sigma: sigma, Adjacency: accountant.ReplaceOne}, Times: 7}},
		{dpmech.WithoutReplacement{Batch: 15}, accountant.AddRemove, accountant.Repeated{Event: accountant.WithoutReplacement{Rate: 0.5, Sigma: sigma, Adjacency: accountant.AddRemove}, Times: 7}},
		{dpmech.FullBatch{}, accountant.ReplaceOne, accountant.Repeated{Event: accountant.Gaussian{Sensitivity: 2, Sigma: sigma, Adjacency: accountant.ReplaceOne}, Times: 7}},
		{dpmech.FullBatch{}, accountant.ZeroOut, accountant.Repeated{Event: accountant.Gaussian{Sensitivity: 1, Sigma: sigma, Adjacency: accountant.ZeroOut}, Times: 7}},
		{dpmech.Permutation{Batches: 3}, accountant.ReplaceOne, accountant.Repeated{Event: accountant.Permutation{Sigma: sigma, Adjacency: accountant.ReplaceOne}, Times: 3}},
		{dpmech.Permutation{Batches: 7}, accountant.ReplaceOne, accountant.Repeated{Event: accountant.Permutation{Sigma: sigma, Adjacency: accountant.ReplaceOne}, Times: 1}},
		{dpmech.RandomAllocation{Steps: 6, Picks: 2}, accountant.AddRemove, accountant.Repeated{Event: accountant.RandomAllocation{Steps: 6, Picks: 2, Sigma: sigma, Adjacency: accountant.AddRemove}, Times: 2}},
		{dpmech.Permutation{Batches: 3}, accountant.AddRemove, nil},
		{dpmech.RandomAllocation{Steps: 6, Picks: 2}, accountant.ReplaceOne, nil},
		{dpmech.Poisson{Rate: 0.2}, "neighbour", nil},
		{dpmech.FullBatch{}, "", nil},
	} {
		got, err := newSampler(t, c.sampling, n).Event(sigma, c.adjacency, steps)
		if got != c.want || (err == nil) != (c.want != nil) {
			t.Errorf("%#v under %q: event %#v, %v, want %#v", c.sampling, c.adjacency, got, err, c.want)
		}
	}
	if _, err := newSampler(t, dpmech.FullBatch{}, n).Event(sigma, accountant.AddRemove, 0); err == nil {
		t.Error("no error for zero steps")
	}
	// The rate must be at least the exact quotient of the batch size and the number of records.
	for records := 1; records < 200; records++ {
		for batch := range records + 1 {
			e, err := newSampler(t, dpmech.WithoutReplacement{Batch: batch}, records).Event(1, accountant.AddRemove, 1)
			check(t, err)
			rate := e.(accountant.Repeated).Event.(accountant.WithoutReplacement).Rate
			exact := big.NewRat(int64(batch), int64(records))
			if got := new(big.Rat).SetFloat64(rate); got.Cmp(exact) < 0 || rate > 1 {
				t.Fatalf("%d of %d records: rate %v", batch, records, rate)
			}
		}
	}
}

// For any arguments, a sampler must return an error or batches of distinct records.
func FuzzSamplers(f *testing.F) {
	f.Add(uint8(0), 100, 0.5, 3, 2, 0, uint64(1))
	f.Add(uint8(1), 39_073, 0.0, 195, 0, 1, uint64(2))
	f.Add(uint8(2), 10, math.NaN(), 5, 5, 0, uint64(3))
	f.Add(uint8(3), 257, 1e-300, 256, 1, 0, uint64(4))
	f.Add(uint8(0), 1, 1.0, 0, 0, 1, uint64(5))
	f.Fuzz(func(t *testing.T, kind uint8, records int, rate float64, a, b, selection int, seed uint64) {
		if records > 1<<17 || a > 1<<20 || records > 0 && b > 1<<20/records {
			t.Skip("too large and slow")
		}
		sampling := []dpmech.Sampling{
			dpmech.Poisson{Rate: rate, Selection: dpmech.Selection(selection)},
			dpmech.WithoutReplacement{Batch: a, Selection: dpmech.Selection(selection)},
			dpmech.RandomAllocation{Steps: a, Picks: b},
			dpmech.Permutation{Batches: a},
			dpmech.FullBatch{},
		}[kind%5]
		sampler, err := sampling.Sampler(records)
		if err != nil {
			return
		}
		src := seeded.Stream(seed, "fuzz")
		for range 3 {
			checkBatch(t, sampler, sampler.Next(nil, src))
		}
	})
}
