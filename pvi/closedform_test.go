package pvi

import (
	"math"
	"testing"
)

// The variances are 1/b + τ²/b², where b is the precision of q in that coordinate. τ is the
// standard deviation of the noise in one step, times √2 for two clients and √2 for averaging over
// half of the steps.
func TestClosedFormNoise(t *testing.T) {
	p := oneStepProtocol(t, set("inference.noise_aware", `"closed-form"`))
	n := p.method.Noise()
	want := n.SD * 2 / math.Sqrt(float64(stepsOf(p).Total))
	if got := steppedOf(p).ClosedFormNoise(); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("τ = %g, want %g", got, want)
	}
	mean, cov, err := p.ClosedForm([]float64{2, 4, 6, 10, 20, 30})
	check(t, err)
	for i, b := range []float64{10, 20, 30} {
		if mean[i] != 0.2 || math.Abs(cov.At(i, i)/(1/b+want*want/(b*b))-1) > 1e-12 {
			t.Errorf("coordinate %d: N(%g, %g)", i, mean[i], cov.At(i, i))
		}
	}
}
