package report

import (
	"math"
	"testing"
)

// The values were computed by hand from definition 7 of Hyndman and Fan (1996).
func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{[]float64{4, 1, 3, 2}, .5, 2.5},
		{[]float64{3, 1, 2}, .5, 2},
		{[]float64{2, 1}, .5, 1.5},
		{[]float64{7}, .9, 7},
		{[]float64{4, 1, 3, 2}, 0, 1},
		{[]float64{4, 1, 3, 2}, 1, 4},
		{[]float64{10, 0, 5, 2, 7, 9, 1, 3, 4, 6, 8}, .1, 1},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .1, .9},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .9, 8.1},
	} {
		if got := Quantile(c.values, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("quantile %g of %v is %g, want %g", c.p, c.values, got, c.want)
		}
	}
	if got := Quantile(nil, .5); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %g", got)
	}
}
