package solver

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

// An energy computes the free energy of a Gaussian q
//
//	weight · E_q[log likelihood] + E_q[log cavity] + entropy of q
//
// where weight is the number of times that each record counts. If point is true, the entropy is
// left out. The cavity may be improper.
type energy struct {
	likelihood Likelihood
	family     gaussian.Family
	// whether the fit is pooled; its computation of moments is faster, with other rounding errors
	// than the clients'
	pooled bool
	rough  bool // whether quadrature rules of few points suffice
	point  bool // whether to evaluate only at the mean of q
}

// at returns the expectations of the log likelihood under the q with parameters natural, and the
// free energy of q up to a constant. cavity has natural parameters of the same family.
func (f *energy) at(natural, cavity []float64, weight float64) (*Expected, float64, error) {
	moments := f.family.Moments
	if f.pooled {
		moments = func(nat []float64) ([]float64, *mat.SymDense, error) {
			return gaussian.FullMoments(f.family.Dim(), nat)
		}
	}
	q, err := newApproximation(f.family, natural, moments)
	if err != nil {
		return nil, 0, err
	}
	q.Point, q.Rough = f.point, f.rough
	e := NewExpected(f.family)
	f.likelihood.AddExpected(e, q)
	if !e.Finite() || math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
		return nil, 0, fmt.Errorf("%w: the log likelihood or its derivatives overflow at the present posterior; a narrower prior keeps them finite", ErrDiverged)
	}
	value := weight*e.Value + q.expected(cavity)
	if !f.point {
		entropy, err := f.family.Entropy(natural)
		if err != nil {
			return nil, 0, err
		}
		value += entropy
	}
	return e, value, nil
}

// expected returns the expectation of hᵀθ − θᵀΛθ/2 under q, where natural holds h and Λ: the
// expected log density of a Gaussian, up to a constant.
func (q *Approximation) expected(natural []float64) (sum float64) {
	d := q.Family.Dim()
	for i, m := range q.Mean {
		sum += natural[i] * m
	}
	for k, at := range q.Family.Precision() {
		i, j := at[0], at[1]
		second := q.Mean[i] * q.Mean[j]
		switch {
		case q.Point:
		case i == j:
			second += q.Variance[i]
		default:
			second += q.Covariance[i*d+j]
		}
		if i == j {
			second /= 2
		}
		sum -= natural[d+k] * second
	}
	return sum
}
