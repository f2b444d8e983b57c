// Package solver refines one client's factor. Given q and the cavity (q without
// the client's own factor) a [Solver] says which factor the client's records ask
// for, as natural parameters of the family of q.
//
// A solver may use the records freely if what it proposes is made private
// afterwards, as at dataset level, or must itself be private, as at datapoint
// level; then it releases what it needs through a mechanism of package dpmech,
// reports the event, and proposes a function of what it released.
package solver

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/gaussian"
)

// A Problem is what a solver is asked.
type Problem struct {
	Family  gaussian.Family
	Mean    []float64 // of q, of length Family.Dim()
	Natural []float64 // parameters of q
	Cavity  []float64 // natural parameters of q without the client's factor

	// Weight is by how much λ would move, in changes of one client, if all that are
	// asked answered alike: the damping times their number.
	Weight float64

	// Tied says that factors are tied: changes cancel in the end, rather than vanish,
	// so that a solver should propose all that it would.
	Tied bool
}

// A Solver proposes factors for one client.
type Solver interface {
	// Propose writes to dst the natural parameters that the client's factor
	// should have. It returns the events of what it released in doing so,
	// with noise from src, also beside an error.
	Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error)

	// State returns what the solver has to remember beyond the records, nil
	// if nothing.
	State() []byte

	// Restore sets the solver to a state that State returned.
	Restore(state []byte) error
}
