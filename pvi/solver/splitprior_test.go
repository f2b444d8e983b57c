package solver_test

import (
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/solver"
)

// A witness is a solver that records the cavity of its last problem.
type witness struct{ cavity []float64 }

func (w *witness) Propose(dst []float64, p solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	w.cavity = slices.Clone(p.Cavity)
	for i, c := range p.Cavity {
		// The posterior has natural parameters 10, 20, ..., for any cavity.
		dst[i] = 10*float64(i+1) - c
	}
	return nil, nil
}

func (w *witness) State() []byte        { return []byte("remembered") }
func (w *witness) Restore([]byte) error { return nil }

// The cavity of each of M clients is prior^(1/M). The prior times all factors equals the product of
// the clients' posteriors (Tresp 2000).
func TestSplitPrior(t *testing.T) {
	const clients = 4
	prior := []float64{1, -2, 3, 0.5}
	w := new(witness)
	s := solver.SplitPrior(w, clients)
	lambda := slices.Clone(prior)
	for range clients {
		factor := make([]float64, len(prior))
		if _, err := s.Propose(factor, solver.Problem{Cavity: prior}, nil); err != nil {
			t.Fatal(err)
		}
		for i := range lambda {
			lambda[i] += factor[i]
		}
	}
	if want := []float64{0.25, -0.5, 0.75, 0.125}; !slices.Equal(w.cavity, want) {
		t.Errorf("a member works with %v, want %v", w.cavity, want)
	}
	if want := []float64{40, 80, 120, 160}; !slices.Equal(lambda, want) {
		t.Errorf("the product of the factors and the prior is %v, want %v", lambda, want)
	}
	if !slices.Equal(prior, []float64{1, -2, 3, 0.5}) {
		t.Errorf("the prior was changed to %v", prior)
	}
	if string(s.State()) != "remembered" {
		t.Error("the state of the solver within is not kept")
	}
}
