package accountant

import (
	"math"
	"testing"
)

// Randomised response has the outcomes of the pair that dominates all ε-private steps, so both
// events must cost the same.
func TestOutcomesOfRandomisedResponse(t *testing.T) {
	const epsilon = .5
	p := 1 / (1 + math.Exp(-epsilon))
	own, err := NewOutcomes([]float64{p, 1 - p}, []float64{1 - p, p}, AddRemove)
	check(t, err)
	for _, times := range []int{1, 20} {
		compose := func(e Event) Event {
			return Composed{Repeated{e, times}, Gaussian{Sigma: 4, Sensitivity: 1, Adjacency: AddRemove}}
		}
		got := epsilonOf(t, compose(own), 1e-5)
		want := epsilonOf(t, compose(Approximate{Epsilon: epsilon, Adjacency: AddRemove}), 1e-5)
		if math.Abs(got.Upper-want.Upper) > 1e-4 {
			t.Errorf("%d times: ε = %v, not %v", times, got, want)
		}
	}
	if _, err := MarshalEvent(own); err == nil {
		t.Error("an event that this package does not know could enter a ledger")
	}
}

// The reference is a sum over all 8 sequences of outcomes.
func TestOutcomesOfBothOrders(t *testing.T) {
	p, q := []float64{.6, .4}, []float64{.3, .7}
	own, err := NewOutcomes(p, q, ReplaceOne)
	check(t, err)
	const epsilon = .4
	exact := func(p, q []float64) (delta float64) {
		for k := range 8 {
			x, y := 1., 1.
			for bit := range 3 {
				x, y = x*p[k>>bit&1], y*q[k>>bit&1]
			}
			delta += max(0, x-math.Exp(epsilon)*y)
		}
		return delta
	}
	want := max(exact(p, q), exact(q, p))
	if got, err := account(t, Repeated{own, 3}).Delta(epsilon); err != nil || got.Upper < want || got.Upper > want*(1+1e-3) {
		t.Errorf("δ = %v, %v, exact is %g", got, err, want)
	}
}

func TestOutcomesAreChecked(t *testing.T) {
	for name, c := range map[string][2][]float64{
		"one outcome":  {{1}, {1}},
		"two lengths":  {{.5, .5}, {.5, .25, .25}},
		"no sum of 1":  {{.5, .4}, {.5, .5}},
		"not a number": {{math.NaN(), 1}, {.5, .5}},
		"negative":     {{-.5, 1.5}, {.5, .5}},
	} {
		if _, err := NewOutcomes(c[0], c[1], AddRemove); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
