package ledger_test

import (
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
)

// The budget of a Gaussian filter is the μ² of a single release with this ε and δ. If two unit
// normal distributions are μ apart, a guess is right with probability Φ(μ/2).
func TestRightGuess(t *testing.T) {
	for _, epsilon := range []float64{.1, 1, 8} {
		target := accountant.Target{Epsilon: epsilon, Delta: 1e-5}
		low, high := 0.0, 20.0 // μ by bisection of δ(ε) = Φ(−ε/μ + μ/2) − exp(ε)·Φ(−ε/μ − μ/2)
		for range 100 {
			mu := (low + high) / 2
			if phi(mu/2-epsilon/mu)-math.Exp(epsilon)*phi(-mu/2-epsilon/mu) > target.Delta {
				high = mu
			} else {
				low = mu
			}
		}
		a := ledger.Account{Budget: ledger.Budget{Epsilon: epsilon, Delta: target.Delta, Filter: ledger.Gaussian}, Total: low * low}
		filter, err := accountant.NewGaussianFilter(target, accountant.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		if total := filter.Budget(); math.Abs(total/a.Total-1) > 1e-3 {
			t.Errorf("ε = %g: the filter's budget is %g, and μ² = %g", epsilon, total, a.Total)
		}
		if got, want := a.RightGuess(), phi(low/2); math.Abs(got-want) > 1e-9 {
			t.Errorf("ε = %g: a guess is right with probability %g, want %g", epsilon, got, want)
		}
		a.Budget.Filter = ledger.Renyi
		if got, want := a.RightGuess(), 1/(1+math.Exp(-epsilon)); got < want || got > want+target.Delta {
			t.Errorf("ε = %g with a Rényi filter: a guess is right with probability %g, want %g", epsilon, got, want)
		}
	}
}

// phi is the standard normal distribution function.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func TestRemaining(t *testing.T) {
	for left, want := range map[float64]string{.07185: "0.07185", .01234567: "0.01235", 1e-5: "1e-05", 6.12e-9: "0", 0: "0"} {
		a := ledger.Account{Left: left, Total: .07185}
		if got := a.Remaining(); got != want {
			t.Errorf("of 0.07185, %g is left: %q, want %q", left, got, want)
		}
	}
}
