// Package solver computes one client's factor, which is the approximation of its likelihood in q. A
// [Solver] takes q and the cavity, which is q without the client's own factor, and proposes a new
// factor in natural parameters of the family of q.
//
// A solver may use the records without noise if a mechanism makes its proposal private afterwards.
// This is so if the privacy unit is the client, and if a client's records are divided into parts
// ([study.Partitions]). Otherwise, if the unit is the record or the person, a solver must itself be
// private: it releases numbers through a mechanism of package dpmech, returns the events to charge
// for them, and proposes a function of the released numbers.
//
// A [Likelihood] gives a solver a shard's log likelihood. [Regression] is the Likelihood of models
// with linear predictors, and [Program] is the Likelihood of any record program.
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

	// Weight is the damping α times the number of clients that must answer the plan. If all of
	// these clients make the same change, λ moves by Weight times that change.
	Weight float64

	// Tied is true if no client stores its factor, because the factor is a fixed share of λ −
	// λ_prior ([study.Tied]). Even when λ has converged, each client then proposes a change that is
	// not zero, but the sum of these changes is zero. A solver should therefore propose its whole
	// change, even if only a smaller change would improve the objective of the solver.
	Tied bool
}

// A Solver proposes factors for one client.
type Solver interface {
	// Propose writes the natural parameters of the new factor to dst. It returns the events of its
	// releases, even if it returns an error after some of them. It takes its randomness from src.
	Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error)

	// State encodes the progress of the solver, so that [Solver.Restore] can continue it with the
	// same records. It returns nil if the solver has no state.
	State() []byte

	// Restore sets the solver to a state that State returned. It returns an error if the state
	// cannot belong to this solver.
	Restore(state []byte) error
}
