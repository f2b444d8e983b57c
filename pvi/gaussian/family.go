package gaussian

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// ErrImproper is the error for natural parameters that define no distribution: the precision is
// not positive definite, or an element is not finite.
var ErrImproper = errors.New("not a proper Gaussian")

// A Family is a set of Gaussians over R^d, all or those with a diagonal precision. It determines
// the layout of natural parameters.
type Family interface {
	// Name returns "diagonal" or "full".
	Name() string

	// Dim returns d, the dimension of θ.
	Dim() int

	// Size returns the length of a vector of natural parameters.
	Size() int

	// Precision returns the row and the column of each element of the precision, in the order of
	// the natural parameters. The row is never less than the column.
	Precision() [][2]int

	// Check returns an error that wraps ErrImproper unless nat are the natural parameters of a
	// proper Gaussian.
	Check(nat []float64) error

	// FromMoments writes the natural parameters of N(mean, cov) to dst. A diagonal family
	// uses the diagonal of cov only.
	FromMoments(dst, mean []float64, cov mat.Symmetric) error

	// Mean writes the mean of the Gaussian nat to dst, which has length d.
	Mean(dst, nat []float64) error

	// Means returns a function that computes Mean but reuses its memory. It is not safe for
	// concurrent use.
	Means() func(dst, nat []float64) error

	// Marginals returns the mean and variance of every coordinate.
	Marginals(nat []float64) (mean, variance []float64, err error)

	// Moments returns the mean and the d×d covariance of the Gaussian nat.
	Moments(nat []float64) (mean []float64, cov *mat.SymDense, err error)

	// KL returns the Kullback-Leibler divergence KL(p‖q) in nats.
	KL(p, q []float64) (float64, error)

	// Entropy returns the differential entropy of the Gaussian nat, in nats.
	Entropy(nat []float64) (float64, error)

	// LogDensity returns the log density of the Gaussian nat as a function of theta, which is not
	// safe for concurrent use.
	LogDensity(nat []float64) (func(theta []float64) float64, error)

	// Sampler returns a function that draws from the Gaussian nat.
	Sampler(nat []float64) (Sampler, error)

	// ProjectLikelihood writes to dst the factor of this family that approximates a likelihood
	// exp(sᵀθ − θᵀSθ/2), in the layout of Full(d), when q has the given mean m. It is the gradient
	// of the expected log likelihood with respect to the mean parameters of q. For a full family
	// this is the likelihood itself. For a diagonal family it has
	//
	//	precision = diag(S)
	//	precision times mean = diag(S)m + s − Sm
	//
	// (Khan and Lin, "Conjugate-Computation Variational Inference", 2017).
	ProjectLikelihood(dst, likelihood, mean []float64)
}

// A Sampler draws from a Gaussian into dst. normal must return independent standard normal
// variates.
type Sampler func(dst []float64, normal func() float64)

// New returns the family of the given name over R^d.
func New(name string, d int) (Family, error) {
	if d < 1 {
		return nil, fmt.Errorf("gaussian: dimension must be at least 1, got %d", d)
	}
	switch name {
	case "diagonal":
		return Diagonal(d), nil
	case "full":
		return Full(d), nil
	}
	return nil, fmt.Errorf(`gaussian: unknown family %q: use "diagonal" or "full"`, name)
}

func mustHave(n, want int, what string) {
	if n != want {
		panic(fmt.Sprintf("gaussian: %s has %d elements, want %d", what, n, want))
	}
}
