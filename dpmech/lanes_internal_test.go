package dpmech

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Assembly and Go give the same bits.
func TestLanesAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(r, "length")
		scale := math.Ldexp(1, rapid.IntRange(-500, 480).Draw(r, "scale"))
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, -1, 0.5, 0x1p-52})).Draw(r, "element")
		}
		if got, want := sumOfSquares(v), sumOfSquaresOneByOne(v); math.Float64bits(got) != math.Float64bits(want) {
			r.Fatalf("Σ squares of %v: %v in lanes, %v one by one", v, got, want)
		}
		reach := math.Ldexp(1, rapid.IntRange(-1, 50).Draw(r, "reach"))
		got := make([]int64, n, n+1)
		for i := range got {
			got[i] = rapid.Int64().Draw(r, "sum")
		}
		want := slices.Clone(got)
		addTruncated(got, v, reach/scale)
		addTruncatedOneByOne(want, v, reach/scale)
		if !slices.Equal(got, want) {
			r.Fatalf("%v times %g: %v in lanes, %v one by one", v, reach/scale, got, want)
		}
	})
}

// Integers, and their neighbours on either side, are truncated toward zero.
func TestLanesTruncate(t *testing.T) {
	for _, whole := range []float64{0, 1, 2, 1 << 34, 1<<50 + 1} {
		for _, sign := range []float64{1, -1} {
			for _, x := range []float64{whole, math.Nextafter(whole, 0), math.Nextafter(whole, math.Inf(1))} {
				sum := make([]int64, 5)
				addTruncated(sum, []float64{sign * x, 0, 0, 0, sign * x}, 1)
				if want := int64(sign * math.Trunc(x)); sum[0] != want || sum[4] != want {
					t.Errorf("%g is truncated to %d and %d, want %d", sign*x, sum[0], sum[4], want)
				}
			}
		}
	}
}

// Infinities and NaN show in a sum of squares.
func TestLanesNotFinite(t *testing.T) {
	for n := 1; n < 10; n++ {
		for i := range n {
			for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1e200} {
				v := make([]float64, n)
				v[i] = x
				if ss := sumOfSquares(v); ss <= math.MaxFloat64 {
					t.Errorf("%v has a sum of squares of %g", v, ss)
				}
			}
		}
	}
}
