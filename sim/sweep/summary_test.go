package sweep

import (
	"math"
	"testing"
)

// Whiskers at the same x must not touch, must keep the order of the series, and must be closer to
// their own x than to any other.
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
