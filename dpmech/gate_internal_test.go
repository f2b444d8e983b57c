package dpmech

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// check fails the test if err is not nil. It calls Helper only if there is an error, because Helper
// is slow.
func check(t rapid.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// For vectors and clips of all sizes, addChecked must shorten a vector at most once.
func TestShrinksAreBounded(t *testing.T) {
	lattices := []int{-maxExponent, -30, 0, 30, maxExponent}
	rapid.Check(t, func(t *rapid.T) {
		lattice, err := NewLattice(rapid.SampledFrom(lattices).Draw(t, "exponent"))
		check(t, err)
		g := newGate(lattice, rapid.Int64Range(1, 1<<maxClipBits).Draw(t, "clip"))
		unit := 1.0
		if rapid.Bool().Draw(t, "near the clip") {
			unit = lattice.Step() * g.clip
		}
		v := rapid.SliceOfN(rapid.OneOf(
			rapid.Float64(), rapid.Float64Range(-1, 1),
			rapid.SampledFrom([]float64{1, math.MaxFloat64, -math.MaxFloat64, 5e-324, 0x1p-1022, 1e154, 1e-162}),
		), 1, 40).Draw(t, "vector")
		for i := range v {
			if x := v[i] * unit; !math.IsInf(x, 0) {
				v[i] = x
			}
		}
		sum := make([]int64, len(v))
		factor, ok := g.factor(v)
		if !ok {
			t.Fatalf("%v is reported as not finite", v)
		}
		if g.tryAdd(sum, v, factor) {
			return
		}
		subtract(sum, v, factor)
		for i := range sum {
			if sum[i] != 0 {
				t.Fatalf("%v is not subtracted again: %v", v, sum)
			}
		}
		if !g.tryAdd(sum, v, factor*(1-0x1p-20)) {
			t.Fatalf("%v does not fit after a shrink", v)
		}
	})
}

// tryAdd must notice an element that is too large, even if the sum of squares wraps around.
//
//abuse:case P17 detected; no sum wraps around
func TestTryAddNoticesWrappedSquares(t *testing.T) {
	for _, clip := range []int64{1, 3, 1 << 20, 1<<28 - 1, 1 << 28, 1 << 31, 1 << 32, 1 << maxClipBits} {
		g := newGate(Lattice{}, clip)
		for _, v := range [][]float64{
			{0x1p32},
			{-0x1p32},
			{0x1p62},
			{-0x1p62},
			{0x1p35},
			{-0x1p35},
			{0x1p33, 0x1p33, 0x1p33, 0x1p33, 0x1p33, 0x1p33},
			{-0x1p63, -0x1p63, -0x1p63, -0x1p63},
			{0, 0, 0, 0, 0x1p40},
			{0x1p40, 0, 0, 0},
			{0, -0x1p40, 0, 0},
			{0, 0, 0x1p40, 0},
			{0, 0, 0, -0x1p40},
			{0x1p32, 0x1p32, 0x1p32, 0x1p32},
			{float64(clip), 1},
			{float64(clip + 1)},
			{-float64(clip + 1)},
		} {
			var exact float64
			for _, x := range v {
				exact += x * x
			}
			if exact <= float64(clip)*float64(clip) {
				continue
			}
			if g.tryAdd(make([]int64, len(v)), v, 1) {
				t.Errorf("clip %d: %v fits", clip, v)
			}
		}
	}
}

// If the squares of many elements together need more than 64 bits, tryAdd must carry their sum into
// the second word.
func TestTryAddCarries(t *testing.T) {
	for _, bits := range []int{20, 27, 28, 29, 33} {
		clip := int64(1)<<bits - 1
		g := newGate(Lattice{}, clip)
		// A vector with n² elements of size clip/n has a norm of exactly clip. One more element
		// makes it too long.
		for _, n := range []int64{1, 2, 8, 30} {
			v := make([]float64, n*n+1)
			for i := range n * n {
				v[i] = float64(clip / n)
			}
			if !g.tryAdd(make([]int64, len(v)), v, 1) {
				t.Errorf("clip %d: %d elements of %d do not fit", clip, n*n, clip/n)
			}
			v[n*n] = float64(clip/n) + 2*float64(n)
			for i := range n * n {
				v[i] = float64((clip + n - 1) / n)
			}
			if g.tryAdd(make([]int64, len(v)), v, 1) {
				t.Errorf("clip %d: %d elements of %d and one more fit", clip, n*n, clip/n)
			}
		}
	}
}

// If the lower 64 bits wrap around to a small number, tryAdd must still keep the carry.
func TestTryAddKeepsTheCarry(t *testing.T) {
	const clip = 1<<28 - 1
	g := newGate(Lattice{}, clip)
	full := make([]float64, 257)
	for i := range full {
		full[i] = clip
	}
	for what, v := range map[string][]float64{
		"in the last block":    full,
		"in a block before":    append(slices.Clone(full), make([]float64, 128)...),
		"by one element":       append([]float64{0x1p32}, make([]float64, 256)...),
		"by the last element":  append(make([]float64, 256), 0x1p32),
		"of the smallest kind": append([]float64{-0x1p63}, make([]float64, 256)...),
	} {
		if g.tryAdd(make([]int64, len(v)), v, 1) {
			t.Errorf("squares that wrap around %s fit", what)
		}
	}
}

// The factor of a vector has a margin for rounding errors, so a clipped vector must be within the
// bound at the first attempt.
func TestClippedVectorsFitAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGate(Lattice{}, rapid.Int64Range(1<<20, 1<<maxClipBits).Draw(t, "clip"))
		v := rapid.SliceOfN(rapid.Float64Range(1e12, 1e14), 1, 100).Draw(t, "vector")
		factor, ok := g.factor(v)
		if !ok || !g.tryAdd(make([]int64, len(v)), v, factor) {
			t.Fatalf("%v needs a shrink", v)
		}
	})
}

// A release must overwrite the noise that it has used.
//
//abuse:case A17 noise is wiped after its use
func TestUsedNoiseIsWiped(t *testing.T) {
	m, err := NewGaussianSum(Config{Dim: 2, Clip: 1, NoiseMultiplier: 1, Shares: 1, Terms: 1, Releases: 1, Adjacency: "zero-out"})
	check(t, err)
	var noise Noise
	m.Draw(&noise, NewStream())
	check(t, m.ReleaseOne(make([]int64, 2), make([]int64, 2), &noise, []float64{1, 0}))
	if !slices.Equal(noise.drawn.steps, []int64{0, 0}) {
		t.Errorf("used noise is not wiped: %v", noise.drawn.steps)
	}
}
