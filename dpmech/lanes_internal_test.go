package dpmech

import (
	"math"
	"testing"
)

func TestTruncation(t *testing.T) {
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

func TestSumOfSquaresNotFinite(t *testing.T) {
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
