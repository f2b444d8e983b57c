package sim

import (
	"fmt"
	"testing"

	"fedpvi/pvi/study"
)

// On 300 generated data sets, the noise-aware 90 % intervals must contain 87 to 93 % of the true
// coefficients at ε = 1 and 3, and 85 to 95 % at ε = 0.3. With five coefficients per data set the
// standard error is below .012.
func TestCoverageOfIntervals(t *testing.T) {
	if !long() {
		t.Skip("900 fits: set FEDPVI_LONG=1")
	}
	for _, c := range []struct{ epsilon, low, high float64 }{{0.3, 0.85, 0.95}, {1, 0.87, 0.93}, {3, 0.87, 0.93}} {
		st := calibration(t,
			study.Override{Key: "privacy.epsilon", Value: fmt.Sprintf("%.1f", c.epsilon)},
			study.Override{Key: "simulation.synthetic.records_per_client", Value: "2000"},
			study.Override{Key: "inference.steps", Value: "200"})
		const sets = 300
		var plain, aware float64
		for seed := range uint64(sets) {
			p, _ := playOut(t, st, seed+1, 1)
			a, b, err := p.Coverage()
			if err != nil {
				t.Fatal(err)
			}
			plain, aware = plain+a/sets, aware+b/sets
		}
		t.Logf("ε = %g: %.3f noise-aware, %.3f plain", c.epsilon, aware, plain)
		if aware < c.low || aware > c.high {
			t.Errorf("ε = %g: %.3f are covered, want %g to %g", c.epsilon, aware, c.low, c.high)
		}
	}
}
