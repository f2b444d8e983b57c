package baseline

import (
	"math"
	"testing"
)

// The mean and sd must agree with quadrature to three digits, whether every record has its own
// factor (ep) or all share one (sep).
func TestPropagationFindsThePosterior(t *testing.T) {
	for _, name := range []string{"ep", "sep"} {
		p := play(t, 150, "solver = \"dp-sep\"", "epsilon = 1.0\nclip = 1.0", name)
		cost, err := Play(p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsNaN(cost.Claimed) || !math.IsNaN(cost.Proven) {
			t.Errorf("%s: a method without noise has the cost %+v", name, cost)
		}
		mean, sd := exact(p, 1, math.Inf(1))
		found := p.Posterior()
		gotMean, gotSD := found[0]/found[1], 1/math.Sqrt(found[1])
		if math.Abs(gotMean-mean) > 2e-3*sd || math.Abs(gotSD/sd-1) > 2e-3 {
			t.Errorf("%s: %.5f ± %.5f, the posterior is %.5f ± %.5f", name, gotMean, gotSD, mean, sd)
		}
	}
}
