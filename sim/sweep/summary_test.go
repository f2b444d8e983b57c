package sweep

import (
	"math"
	"testing"
)

// The test compares quantiles with values computed by hand from definition 7 of Hyndman and Fan
// (1996). It includes the median of an even number of values and the two extreme quantiles.
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
		if got := quantiles(c.values, c.p)[0]; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("quantile %g of %v is %g, want %g", c.p, c.values, got, c.want)
		}
	}
	if got := quantiles(nil, .5)[0]; !math.IsNaN(got) {
		t.Errorf("the median of nothing is %g", got)
	}
}

// The test checks that whiskers of different series at the same x do not overlap, are in the
// order of the series, and are nearer to their own x than to any other.
func TestAside(t *testing.T) {
	all := []series{{x: []float64{1, 5, 10}}, {x: []float64{1, 5, 10}}, {x: []float64{5, 10}}}
	for _, c := range []struct{ nominal, log bool }{{false, false}, {false, true}, {true, false}} {
		for _, x := range []float64{1, 5, 10} {
			last := math.Inf(-1)
			for i := range all {
				at := aside(all, i, c.nominal, c.log)(x)
				if !(at > last) || math.Abs(at-x) > .3*x {
					t.Errorf("%+v: series %d at %g is drawn at %g, after %g", c, i, x, at, last)
				}
				last = at
			}
		}
	}
	if at := aside(all[:1], 0, false, true)(5); at != 5 {
		t.Errorf("a single series at 5 is drawn at %g", at)
	}
}
