package solver

import (
	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
)

// A Likelihood is what one client's records say about θ, and the client's share of
// what a prior says that a Gaussian cannot.
type Likelihood interface {
	// Dim is d, the dimension of θ.
	Dim() int

	// AddGradient adds to dst the gradient of the log likelihood at theta, and
	// returns the log likelihood.
	AddGradient(dst, theta []float64) float64

	// AddExpected adds to e what the log likelihood and its first and second
	// derivatives are expected to be at θ ~ q.
	AddExpected(e *Expected, q *Approximation)

	// Tolerance is by how much of its size an expected log likelihood may be wrong: a
	// free energy that falls by less may as well have risen.
	Tolerance() float64

	// Reach returns how far a move of θ takes any record's predictors.
	Reach(move []float64) float64
}

// Expected is the expectation of a log likelihood and of its derivatives.
type Expected struct {
	Value    float64
	Gradient []float64
	Hessian  []float64 // in the order of gaussian.Family.Precision
}

// NewExpected returns zeros for a family.
func NewExpected(family gaussian.Family) *Expected {
	d := family.Dim()
	return &Expected{Gradient: make([]float64, d), Hessian: make([]float64, family.Size()-d)}
}

// Finite reports whether every derivative is.
func (e *Expected) Finite() bool { return special.Finite(e.Gradient) && special.Finite(e.Hessian) }

// Factor writes to dst the natural parameters of the factor that stands for the
// log likelihood: the gradient of its expectation in the mean parameters of a q with
// the given mean (Khan and Lin, "Conjugate-Computation Variational Inference", 2017,
// with the identities of Bonnet and Price).
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

// An Approximation is a Gaussian q as a likelihood looks at it.
type Approximation struct {
	Family     gaussian.Family
	Mean       []float64
	Variance   []float64 // of each coordinate
	Covariance []float64 // by rows; nil for a diagonal family
	Natural    []float64
	Point      bool // the mean alone counts: there is no spread
}

// NewApproximation returns the Gaussian with the given natural parameters, which are
// not copied.
func NewApproximation(family gaussian.Family, natural []float64) (*Approximation, error) {
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
	mean, cov, err := family.Moments(natural)
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
