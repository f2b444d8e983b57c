package solver

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
)

// splitPrior is a Solver that calls another Solver with the cavity replaced by the client's
// share of the prior.
type splitPrior struct {
	Solver
	share  float64
	cavity []float64
}

// SplitPrior returns a solver for the only round of a Bayesian committee machine (Tresp 2000)
// whose members, the clients, split the prior. It raises the cavity, which is the prior in the
// first round, to the power 1/clients. Then the product of the prior and of all factors is the
// product of the clients' posteriors.
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
