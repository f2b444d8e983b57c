package calculator

import (
	"encoding/json"
	"math"
	"testing"

	"fedpvi/accountant"
)

func of[T any](x T) *T { return &x }

// The ε of each solution must meet the target, and must not be far below it.
func TestSolveRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	base := Question{
		Sampling: Poisson, Adjacency: accountant.AddRemove, Prior: 0.5, Group: 1,
		NoiseMultiplier: of(1.2), Rate: of(0.05), Steps: of(60), Delta: of(1e-6),
	}
	asked, err := Ask(base)
	if err != nil {
		t.Fatal(err)
	}
	base.Epsilon = asked.EpsilonUpper
	for field, forget := range map[string]func(*Question){
		"noise_multiplier": func(q *Question) { q.NoiseMultiplier = nil },
		"q":                func(q *Question) { q.Rate = nil },
		"steps":            func(q *Question) { q.Steps = nil },
		"delta":            func(q *Question) { q.Delta = nil },
		"epsilon":          func(q *Question) { q.Epsilon = nil },
	} {
		q := base
		forget(&q)
		a, err := Ask(q)
		if err != nil {
			t.Errorf("%s: %v", field, err)
			continue
		}
		if a.Solved != field {
			t.Errorf("%s: solved for %s", field, a.Solved)
		}
		if *a.EpsilonUpper > *base.Epsilon {
			t.Errorf("%s: ε = %g exceeds the target %g", field, *a.EpsilonUpper, *base.Epsilon)
		}
		near := func(what string, got, want, tolerance float64) {
			if math.Abs(got/want-1) > tolerance {
				t.Errorf("%s: %s = %g, want %g", field, what, got, want)
			}
		}
		near("noise multiplier", a.NoiseMultiplier, 1.2, 1e-3)
		near("q", a.Rate, 0.05, 1e-3)
		near("steps", float64(a.Steps), 60, 1.1/60)
		near("delta", *a.Delta, 1e-6, 1e-2)
		near("epsilon", *a.EpsilonUpper, *base.Epsilon, 1e-2)
	}
}

// Extreme answers must encode as JSON, which has neither NaN nor infinity.
func TestExtremesEncode(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for _, sampling := range []Sampling{Everything, Poisson, Permutation} {
		for _, sigma := range []float64{0.1, 100} {
			for _, delta := range []float64{1e-12, 0.4} {
				q := Question{
					Sampling: sampling, Adjacency: accountant.ZeroOut, Prior: 0.999, Group: 3, FPRs: []float64{1e-9, 0.999},
					NoiseMultiplier: &sigma, Rate: of(0.5), Steps: of(20), Delta: &delta,
				}
				if sampling == Everything {
					q.Rate = nil
				}
				a, err := Ask(q)
				if err != nil {
					t.Errorf("%s, σ = %g, δ = %g: %v", sampling, sigma, delta, err)
					continue
				}
				if _, err := json.Marshal(a); err != nil {
					t.Errorf("%s, σ = %g, δ = %g: %v", sampling, sigma, delta, err)
				}
				if (a.EpsilonUpper == nil) != a.Vacuous {
					t.Errorf("%s, σ = %g, δ = %g: ε %v, vacuous %v", sampling, sigma, delta, a.EpsilonUpper, a.Vacuous)
				}
			}
		}
	}
}
