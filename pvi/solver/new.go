package solver

import (
	"fmt"

	"fedpvi/pvi/study"
)

// New returns the solver of the given name that uses the records without noise, for
// what they say about θ.
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
