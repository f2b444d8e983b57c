package fit

import (
	"math"
	"testing"
)

// For binary outcomes, TypicalGradient is twice the norm of the gradient at a probability of one
// half. The test computes that gradient by central differences.
func TestTypicalGradientOfTwoOutcomes(t *testing.T) {
	for name, logDensity := range map[string]func(eta float64) float64{
		"logistic": func(eta float64) float64 { return -math.Log1p(math.Exp(-eta)) },
		"probit":   func(eta float64) float64 { return math.Log(math.Erfc(-eta/math.Sqrt2) / 2) },
	} {
		m := newModel(t, name)
		const h = 1e-5
		slope := (logDensity(h) - logDensity(-h)) / (2 * h)
		want := 2 * slope * math.Sqrt(m.Study.TypicalSquares())
		if got := m.TypicalGradient(); math.Abs(got-want) > 1e-8*want {
			t.Errorf("%s: %.10g, want %.10g", name, got, want)
		}
	}
}
