package dpmech_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/special"
)

// gates returns mechanisms with clips from 1 to 2^34 lattice steps. For small clips, squares are
// summed in 64 bits, and for large clips in 128 bits, so that tests cover both.
func gates(t testing.TB, dim int) []*dpmech.GaussianSum {
	var all []*dpmech.GaussianSum
	for _, multiplier := range []float64{.00391, .01, .05, .06, .12, .13, 1, 300, 1e6, 3.3e7} {
		for _, clip := range []float64{1, 3e-100, 1.7e100} {
			cfg := ordinary
			cfg.Dim, cfg.NoiseMultiplier, cfg.Clip, cfg.Releases = dim, multiplier, clip, 1
			all = append(all, newSum(t, cfg))
		}
	}
	return all
}

// check fails the test if err is not nil. It calls Helper only if there is an error, because Helper
// is slow.
func check(t rapid.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

func accumulated(t rapid.TB, m *dpmech.GaussianSum, vectors ...[]float64) []int64 {
	t.Helper()
	a := m.NewAccumulator()
	for _, v := range vectors {
		check(t, a.Add(v))
	}
	sum, err := released(m, a)
	check(t, err)
	return sum
}

// released returns the sum of the vectors in a, without noise.
func released(m *dpmech.GaussianSum, a *dpmech.Accumulator) (sum []int64, err error) {
	var noise dpmech.Noise
	m.Draw(&noise, seeded.Stream(1, "accumulated"))
	sum = make([]int64, m.Dim())
	return sum, m.ReleaseSum(make([]int64, m.Dim()), sum, &noise, a)
}

// checkNaive computes a vector's contribution with 200-bit floats and big integers, and compares it
// with that of the mechanism. A vector within the bound must only be truncated. A longer vector
// must keep its direction, and apart from truncation its norm must be within 2^-18 of the bound.
func checkNaive(t rapid.TB, m *dpmech.GaussianSum, v []float64, got []int64) {
	t.Helper()
	checkSensitivity(t, m, got, v)
	float := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	norm := float(0)
	steps := make([]*big.Float, len(v))
	for i, x := range v {
		steps[i] = new(big.Float).Quo(float(x), float(m.Lattice().Step()))
		norm.Add(norm, new(big.Float).Mul(steps[i], steps[i]))
	}
	norm.Sqrt(norm)
	bound := new(big.Float).SetPrec(200).SetInt(clipSteps(m))
	low, high := float(1), float(1)
	if norm.Sign() > 0 {
		ratio := new(big.Float).Quo(bound, norm)
		switch {
		case ratio.Cmp(float(1+1e-12)) >= 0: // the vector is within the bound
		case ratio.Cmp(float(1-1e-12)) > 0: // near 1, rounding decides whether the vector is clipped, so both results are right
			low = float(1 - 0x1p-19)
		default:
			low.Mul(ratio, float(1-0x1p-18))
			high.Mul(ratio, float(1+1e-12))
		}
	}
	for i, s := range steps {
		size := new(big.Float).Abs(s)
		least, _ := new(big.Float).Mul(size, low).Float64()
		most, _ := new(big.Float).Mul(size, high).Float64()
		if n := float64(got[i]); math.Abs(n) > most || math.Abs(n) < math.Floor(least) || n*float64(s.Sign()) < 0 {
			t.Fatalf("element %d of %v gives %d steps, want between %g, truncated, and %g", i, v, got[i], least, most)
		}
	}
}

func TestGateAgainstBigNumbers(t *testing.T) {
	for _, dim := range []int{1, 3, 6, 130} {
		for _, m := range gates(t, dim) {
			rapid.Check(t, func(t *rapid.T) {
				size := m.Clip() * math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log size"))
				if rapid.Bool().Draw(t, "on the bound") {
					size = m.Clip()
				}
				v := randomVector(dim, size)
				v[rapid.IntRange(0, dim-1).Draw(t, "where")] *= rapid.SampledFrom([]float64{1, -1, 0, 1e3}).Draw(t, "by")
				checkNaive(t, m, v, accumulated(t, m, v))
			})
		}
	}
}

// A vector whose norm is equal to the bound must be added unchanged. If one element is longer by a
// lattice step, the vector must be clipped.
func TestGateAtTheBound(t *testing.T) {
	for _, m := range gates(t, 2) {
		bound, _ := new(big.Float).SetInt(clipSteps(m)).Float64()
		step := m.Lattice().Step()
		for _, v := range [][]float64{{bound * step, 0}, {0, -bound * step}} {
			if got := accumulated(t, m, v); math.Abs(float64(got[0]+got[1])) != bound {
				t.Errorf("%v, as long as the bound of %g steps, adds %v", v, bound, got)
			}
		}
		for _, v := range [][]float64{{(bound + 1) * step, 0}, {bound * step, step}, {-bound * step, -step}, {step, bound * step}} {
			checkSensitivity(t, m, accumulated(t, m, v), v)
		}
	}
}

func TestGateHasNoMemory(t *testing.T) {
	for _, m := range gates(t, 6) {
		vectors := [][]float64{
			randomVector(6, m.Clip()*.3), randomVector(6, m.Clip()*30),
			{math.MaxFloat64, -math.MaxFloat64, 1, 0, 5e-324, 1},
			{math.NaN(), 1, 1, 1, 1, 1},
			{1, 1, 1, 1, 1, math.Inf(-1)},
			{5e-324, 5e-324, 0, 0, 0, 0},
			{1e-160, 1e-170, -1e-180, 1e160, 0, 1},
			{m.Clip(), m.Clip(), m.Clip(), m.Clip(), m.Clip(), m.Clip()},
		}
		want := make([]int64, 6)
		for _, v := range vectors {
			for i, n := range accumulated(t, m, v) {
				want[i] += n
			}
		}
		if got := accumulated(t, m, vectors...); !slices.Equal(got, want) {
			t.Errorf("added together the vectors give %v, one by one %v", got, want)
		}
		slices.Reverse(vectors)
		if got := accumulated(t, m, vectors...); !slices.Equal(got, want) {
			t.Errorf("in reverse order the vectors give %v, want %v", got, want)
		}
	}
}

// The fuzzer adds vectors of any length, with arbitrary bits, to an Accumulator and to a Release.
// Each contribution must be within the bound.
//
//abuse:case P18 every input stays within the bound
func FuzzGate(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add(append([]byte{6}, make([]byte, 40)...))
	for _, x := range []float64{math.Inf(1), 5e-324, math.MaxFloat64, -1e154, 1e-154} {
		f.Add(binary.LittleEndian.AppendUint64([]byte{1}, math.Float64bits(x)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < 9 {
			t.Skip("the bytes are not a vector")
		}
		v := floatsOf(raw[1:])
		all := gates(t, len(v))
		m := all[int(raw[0])%len(all)]
		got := accumulated(t, m, v)
		if !special.Finite(v) {
			if !slices.Equal(got, make([]int64, len(v))) {
				t.Fatalf("%v adds %v", v, got)
			}
		} else {
			checkNaive(t, m, v, got)
		}
		if one := exactSum(t, m, v); !slices.Equal(one, got) {
			t.Fatalf("%v adds %v to a release and %v to an accumulator", v, one, got)
		}
		if short := m.NewAccumulator().Add(v[1:]); short == nil {
			t.Fatal("a vector of the wrong length is accepted")
		}
	})
}

// floatsOf returns the floats that raw encodes, at most 64 of them.
func floatsOf(raw []byte) (v []float64) {
	for ; len(raw) >= 8 && len(v) < 64; raw = raw[8:] {
		v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
	}
	return v
}

func TestAccumulator(t *testing.T) {
	cfg := ordinary
	cfg.Terms = 4
	m := newSum(t, cfg)
	dst, sum := make([]int64, 3), make([]int64, 3)
	var noise dpmech.Noise
	one, two := []float64{.1, .2, .3}, []float64{-5, 1, 2}
	add := func(a *dpmech.Accumulator, vectors ...[]float64) {
		t.Helper()
		for _, v := range vectors {
			check(t, a.Add(v))
		}
	}
	release := func(a *dpmech.Accumulator) error {
		m.Draw(&noise, seeded.Stream(1, "exact"))
		return m.ReleaseSum(dst, sum, &noise, a)
	}
	// With the same noise, an Accumulator and a Release must give the same sum.
	a := m.NewAccumulator()
	add(a, one, two, one)
	check(t, release(a))
	wantDst, wantSum := make([]int64, 3), make([]int64, 3)
	err := m.Release(wantDst, wantSum, seeded.Stream(1, "exact"), adding(one, one, two))
	if err != nil || !slices.Equal(dst, wantDst) || !slices.Equal(sum, wantSum) {
		t.Errorf("accumulated: %v of %v, want %v of %v, %v", dst, sum, wantDst, wantSum, err)
	}
	// The accumulator must be empty after the release.
	add(a, one, one, one, one)
	a.Reset()
	if err := release(a); err != nil || !slices.Equal(sum, []int64{0, 0, 0}) {
		t.Errorf("an empty accumulator released the sum %v, error %v", sum, err)
	}
	// An error must fail the release, but not affect the next one.
	for what, spoil := range map[string]func() error{
		"short vector": func() error { return a.Add(one[:2]) },
		"long vector":  func() error { add(a, one); return a.Add(append(one, 1)) },
	} {
		if err := spoil(); err == nil {
			t.Errorf("%s: no error", what)
		}
		if err := release(a); err == nil || !slices.Equal(dst, []int64{0, 0, 0}) || !slices.Equal(sum, []int64{0, 0, 0}) {
			t.Errorf("%s: released %v of %v, %v", what, dst, sum, err)
		}
		if err := m.ReleaseSum(dst, sum, &noise, a); err == nil || !strings.Contains(err.Error(), "no noise was drawn") {
			t.Errorf("%s: the noise is not used up: %v", what, err)
		}
		if err := release(a); err != nil {
			t.Errorf("%s, a release later: %v", what, err)
		}
	}
	another := newSum(t, cfg)
	another.Draw(&noise, seeded.Stream(1, "another"))
	add(a, one)
	if err := another.ReleaseSum(dst, sum, &noise, a); err == nil || !strings.Contains(err.Error(), "another mechanism") || dst[0] != 0 || sum[0] != 0 {
		t.Errorf("the sum of another mechanism is released as %v, %v", dst, err)
	}
	if err := another.ReleaseSum(dst, sum, &noise, another.NewAccumulator()); err == nil {
		t.Error("the noise of a failed release is used again")
	}
}

// If add returns an error, the release must fail, even if the query ignores the error.
func TestQueryThatDoesNotStop(t *testing.T) {
	m := newSum(t, ordinary)
	dst, sum := make([]int64, 3), make([]int64, 3)
	err := m.Release(dst, sum, seeded.Stream(1, "stop"), func(add func([]float64) error) error {
		_ = add([]float64{1})
		return add([]float64{1, 1, 1})
	})
	if err == nil || !slices.Equal(dst, make([]int64, 3)) || !slices.Equal(sum, make([]int64, 3)) {
		t.Errorf("released %v of %v, %v", dst, sum, err)
	}
}

// It must not be possible to use a noise share again through a copy, or to pass destinations that
// share memory. Otherwise the sum could be released without noise.
func TestNoiseIsNotLost(t *testing.T) {
	m := newSum(t, ordinary)
	v := []float64{1, 1, 1}
	var noise dpmech.Noise
	m.Draw(&noise, seeded.Stream(1, "copy"))
	again := noise
	dst, sum := make([]int64, 3), make([]int64, 3)
	check(t, m.ReleaseOne(dst, sum, &noise, v))
	if err := m.ReleaseOne(dst, sum, &again, v); err == nil {
		t.Errorf("a copy of used noise released %v as %v", sum, dst)
	}
	space := make([]int64, 5)
	for _, c := range [][2][]int64{{space[:3], space[:3]}, {space[:3], space[2:]}, {space[2:], space[:3]}, {space[1:4], space[:3]}} {
		m.Draw(&noise, seeded.Stream(1, "overlap"))
		if err := m.ReleaseOne(c[0], c[1], &noise, v); err == nil || !strings.Contains(err.Error(), "overlap") {
			t.Errorf("overlapping destinations: %v", err)
		}
		if err := m.ReleaseOne(dst, sum, &noise, v); err == nil {
			t.Error("the noise of a refused release is used")
		}
		err := m.Release(c[0], c[1], seeded.Stream(1, "overlap"), adding(v))
		if err == nil || !strings.Contains(err.Error(), "overlap") {
			t.Errorf("overlapping destinations: %v", err)
		}
	}
}

func TestNoiseComesFirst(t *testing.T) {
	m := newSum(t, ordinary)
	dst, sum := make([]int64, 3), make([]int64, 3)
	src, untouched := seeded.Stream(1, "first"), seeded.Stream(1, "first")
	want := make([]int64, 3)
	newGaussian(t, m.ShareSigma()).Fill(want, untouched)
	err := m.Release(dst, sum, src, func(func([]float64) error) error {
		if src.Uint64() != untouched.Uint64() {
			t.Error("the data is read before the noise is drawn")
		}
		return nil
	})
	if err != nil || !slices.Equal(dst, want) {
		t.Errorf("the noise is %v, want %v, %v", dst, want, err)
	}
}

func TestGateAllocatesNothing(t *testing.T) {
	m := newSum(t, ordinary)
	a, v := m.NewAccumulator(), []float64{1, 2, 3}
	dst, sum := make([]int64, 3), make([]int64, 3)
	src := seeded.Stream(1, "allocations")
	var noise dpmech.Noise
	m.Draw(&noise, src)
	for what, f := range map[string]func() error{
		"add": func() error { a.Reset(); return a.Add(v) },
		"release of one": func() error {
			m.Draw(&noise, src)
			return m.ReleaseOne(dst, sum, &noise, v)
		},
		"release of a sum": func() error {
			m.Draw(&noise, src)
			return m.ReleaseSum(dst, sum, &noise, a)
		},
	} {
		if n := testing.AllocsPerRun(100, func() {
			check(t, f())
		}); n != 0 {
			t.Errorf("%s allocates %g times", what, n)
		}
	}
}

// BenchmarkAdd measures how long it takes to add a vector within the bound, and one that is
// clipped. It also adds a clipped vector in the query of a release.
func BenchmarkAdd(b *testing.B) {
	for _, dim := range []int{14, 108, 1000} {
		cfg := ordinary
		cfg.Dim, cfg.Terms = dim, 1<<31
		m := newSum(b, cfg)
		for _, size := range []struct {
			name  string
			scale float64
		}{{"short", .1}, {"clipped", 10}} {
			v := randomVector(dim, m.Clip()*size.scale)
			b.Run(fmt.Sprintf("%d/%s", dim, size.name), func(b *testing.B) {
				a := m.NewAccumulator()
				b.ReportAllocs()
				for b.Loop() {
					check(b, a.Add(v))
				}
			})
		}
		v := randomVector(dim, m.Clip()*10)
		b.Run(fmt.Sprintf("%d/query", dim), func(b *testing.B) {
			dst, sum := make([]int64, dim), make([]int64, dim)
			err := m.Release(dst, sum, seeded.Stream(1, "bench"), func(add func([]float64) error) error {
				for b.Loop() {
					if err := add(v); err != nil {
						return err
					}
				}
				return nil
			})
			check(b, err)
		})
	}
}

func randomVector(dim int, norm float64) []float64 {
	g, err := dpmech.NewDiscreteGaussian(1 << 20)
	if err != nil {
		panic(err)
	}
	src, v := seeded.Stream(uint64(dim), "vector"), make([]float64, dim)
	for i := range v {
		v[i] = float64(g.Sample(src))
	}
	floats.Scale(norm/floats.Norm(v, 2), v)
	return v
}
