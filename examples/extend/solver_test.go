package extend_test

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/solver"
	"fedpvi/sim"
)

// This solver goes half as far as the built-in solver.
type halfway struct{ solver.Solver }

func (h halfway) Propose(dst []float64, p solver.Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	events, err := h.Solver.Propose(dst, p, src)
	for i := range dst {
		now := p.Natural[i] - p.Cavity[i] // the client's current factor
		dst[i] = now + (dst[i]-now)/2
	}
	return events, err
}

func init() {
	sim.RegisterSolver("halfway", func(c sim.Client) (solver.Solver, error) { return halfway{c.BuiltIn}, nil })
}

// Twenty rounds of half steps also end at the posterior of the pooled records.
func Example_solver() {
	show(posterior(`solver = "own:halfway"`))
	// Output:
	// intercept 0.99 ± 0.03
	// x 2.01 ± 0.04
	// 0.00 nats
}
