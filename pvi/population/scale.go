package population

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// divided returns v divided by factors, which may be nil.
func divided(v, factors []float64) []float64 {
	if factors == nil {
		return v
	}
	v = slices.Clone(v)
	floats.Div(v, factors)
	return v
}

// dividedTwice returns s with element (i, j) divided by factors[i]·factors[j]. factors may be nil.
func dividedTwice(s *mat.SymDense, factors []float64) *mat.SymDense {
	if factors == nil {
		return s
	}
	out := mat.NewSymDense(len(factors), nil)
	for i, f := range factors {
		for j := range i + 1 {
			out.SetSym(i, j, s.At(i, j)/(f*factors[j]))
		}
	}
	return out
}

// divided returns the mixture after each coordinate is divided by its factor.
func (m *Mixture) divided(factors []float64) *Mixture {
	out := new(Mixture)
	for k, mean := range m.means {
		out.means = append(out.means, divided(mean, factors))
		out.covariances = append(out.covariances, dividedTwice(m.covariances[k], factors))
	}
	return out
}
