package solver

import "fmt"

// stateless implements State and Restore for solvers that keep nothing between rounds.
type stateless struct{}

// State implements [Solver].
func (stateless) State() []byte { return nil }

// Restore implements [Solver].
func (stateless) Restore(state []byte) error {
	if len(state) != 0 {
		return fmt.Errorf("the solver has no state to restore, got %d bytes", len(state))
	}
	return nil
}
