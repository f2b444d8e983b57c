package solver

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
)

// splitPrior raises the cavity to the power share and then calls the embedded Solver.
type splitPrior struct {
	Solver
	share  float64
	cavity []float64
}

// SplitPrior returns a solver for a Bayesian committee machine (Tresp 2000) with one round. In that
// round the cavity is the prior, and the solver raises it to the power 1/clients before it calls s.
// So each client computes a posterior with its share of the prior, and q is their product.
func SplitPrior(s Solver, clients int) Solver {
	return &splitPrior{Solver: s, share: 1 / float64(clients)}
}

// Propose implements [Solver].
func (s *splitPrior) Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	s.cavity = append(s.cavity[:0], p.Cavity...)
	for i := range s.cavity {
		s.cavity[i] *= s.share
	}
	p.Cavity = s.cavity
	return s.Solver.Propose(dst, p, src)
}
