package solver

import (
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
)

// A Likelihood is the log likelihood of one client's records as a function of θ. It includes the
// client's share of any part of the prior that is not Gaussian.
type Likelihood interface {
	// Dim returns d, the dimension of θ.
	Dim() int

	// AddGradient adds to dst the gradient of the log likelihood at theta, and returns the
	// log likelihood.
	AddGradient(dst, theta []float64) float64

	// AddExpected adds the expectations under q of the log likelihood and of its first two
	// derivatives to e.
	AddExpected(e *Expected, q *Approximation)

	// Tolerance bounds the relative error of the expected log likelihood. A smaller change of the
	// free energy may be an error of the quadrature rule.
	Tolerance() float64

	// Reach returns the largest absolute change of any record's predictor if θ changes by move. A
	// [Program] has no predictors and measures move in sds of its base.
	Reach(move []float64) float64
}

// Expected holds the expectations of a log likelihood and of its derivatives.
type Expected struct {
	Value    float64
	Gradient []float64
	Hessian  []float64 // expected second derivatives, in the order of gaussian.Family.Precision
}

// NewExpected returns an Expected of zeros for a family.
func NewExpected(family gaussian.Family) *Expected {
	d := family.Dim()
	return &Expected{Gradient: make([]float64, d), Hessian: make([]float64, family.Size()-d)}
}

// Finite reports whether all derivatives are finite.
func (e *Expected) Finite() bool { return special.Finite(e.Gradient) && special.Finite(e.Hessian) }

// Factor writes the natural parameters of the factor that approximates the log likelihood to dst.
// They are the gradient of the expected log likelihood with respect to the mean parameters of a q
// with the given mean (Khan and Lin, "Conjugate-Computation Variational Inference", 2017). By the
// identities of Bonnet and Price, they follow from e.Gradient and e.Hessian.
func (e *Expected) Factor(dst, mean []float64, family gaussian.Family) {
	d := family.Dim()
	copy(dst, e.Gradient)
	for k, at := range family.Precision() {
		i, j := at[0], at[1]
		precision := -e.Hessian[k]
		dst[d+k] = precision
		dst[i] += precision * mean[j]
		if i != j {
			dst[j] += precision * mean[i]
		}
	}
}

// An Approximation is a Gaussian q together with its moments.
type Approximation struct {
	Family     gaussian.Family
	Mean       []float64
	Variance   []float64 // variance of each coordinate
	Covariance []float64 // covariance by rows; nil for a diagonal family
	Natural    []float64
	Point      bool // whether expectations are evaluated at the mean of q only
	Rough      bool // whether a rule of few points suffices
}

// NewApproximation returns the Gaussian with the given natural parameters, which it keeps. It
// returns an error if they are not proper.
func NewApproximation(family gaussian.Family, natural []float64) (*Approximation, error) {
	return newApproximation(family, natural, family.Moments)
}

// newApproximation is NewApproximation with another function for the moments of a full family.
func newApproximation(family gaussian.Family, natural []float64, moments func([]float64) ([]float64, *mat.SymDense, error)) (*Approximation, error) {
	d := family.Dim()
	q := &Approximation{Family: family, Natural: natural, Mean: make([]float64, d), Variance: make([]float64, d)}
	if family.Name() == "diagonal" {
		if err := family.Mean(q.Mean, natural); err != nil {
			return nil, err
		}
		for i := range q.Variance {
			q.Variance[i] = 1 / natural[d+i]
		}
		return q, nil
	}
	mean, cov, err := moments(natural)
	if err != nil {
		return nil, err
	}
	q.Mean, q.Covariance = mean, make([]float64, d*d)
	for i := range d {
		q.Variance[i] = cov.At(i, i)
		for j := range d {
			q.Covariance[i*d+j] = cov.At(i, j)
		}
	}
	return q, nil
}
