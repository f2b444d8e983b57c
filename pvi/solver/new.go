package solver

import (
	"fmt"

	"fedpvi/pvi/study"
)

// New returns the solver with the given name for a likelihood. The solver uses the records
// without noise.
func New(name study.Solver, ascent study.Ascent, l Likelihood) (Solver, error) {
	switch name {
	case study.NaturalGradient:
		return NewNaturalGradient(l), nil
	case study.Laplace:
		return NewLaplace(l), nil
	case study.SVI:
		return NewSVI(l, ascent), nil
	}
	return nil, fmt.Errorf("solver %q does not work with a log likelihood", name)
}
