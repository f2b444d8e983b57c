// Package solver computes one client's factor, which approximates its likelihood in q. A [Solver]
// takes q and the cavity, which is q without the client's factor, and proposes a new factor in
// natural parameters.
//
// A solver may use the records without noise if a mechanism makes its proposal private afterwards,
// as with the unit client, or with parts of a client's records ([study.Partitions]). Otherwise the
// solver itself must be private. It then releases numbers through a mechanism of package dpmech,
// returns the events to charge, and proposes a function of the released numbers.
//
// A [Likelihood] gives a solver a shard's log likelihood. [Regression] is for models with linear
// predictors, and [Program] for any record program.
package solver

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/gaussian"
)

// A Problem is the input of a solver in one round.
type Problem struct {
	Family  gaussian.Family
	Mean    []float64 // mean of q, of length Family.Dim()
	Natural []float64 // natural parameters of q
	Cavity  []float64 // natural parameters of q without the client's factor

	// Weight is the damping α times the number of clients of the plan. If they all make the same
	// change, λ moves by Weight times that change.
	Weight float64

	// Tied is true if no client stores its factor, because it is a fixed share of λ − λ_prior
	// ([study.Tied]). Even after λ has converged, clients then propose changes, whose sum is zero.
	// So a solver should propose its whole change, even if a smaller one would improve its
	// objective.
	Tied bool
}

// A Solver proposes factors for one client.
type Solver interface {
	// Propose writes the natural parameters of the new factor to dst. It returns the events of its
	// releases, even if an error follows. Its randomness comes from src.
	Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error)

	// State encodes the solver's progress for [Solver.Restore], or returns nil if it has none.
	State() []byte

	// Restore restores a state. It returns an error if the state cannot belong to this solver.
	Restore(state []byte) error
}
