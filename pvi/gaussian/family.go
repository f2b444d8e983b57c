package gaussian

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// ErrImproper is returned where natural parameters were to describe a
// distribution and do not: the precision is not positive definite, or an
// element is not finite.
var ErrImproper = errors.New("not a proper Gaussian")

// A Family is the set of Gaussians over R^d with one shape of precision. It
// gives meaning to a vector of natural parameters.
type Family interface {
	// Name is "diagonal" or "full".
	Name() string

	// Dim is d, the dimension of θ.
	Dim() int

	// Size is the length of a vector of natural parameters.
	Size() int

	// Precision returns row and column, row ≥ column, of the precision's
	// elements in the order in which they follow h in a vector of natural
	// parameters.
	Precision() [][2]int

	// Check returns nil if nat is a proper Gaussian and an error wrapping
	// ErrImproper if not.
	Check(nat []float64) error

	// FromMoments writes the natural parameters of N(mean, cov) to dst. A
	// diagonal family uses the diagonal of cov only.
	FromMoments(dst, mean []float64, cov mat.Symmetric) error

	// Mean writes the mean of nat to dst, of length d.
	Mean(dst, nat []float64) error

	// Means returns a function that does what Mean does and keeps its
	// workspace from call to call. It is not safe for concurrent use.
	Means() func(dst, nat []float64) error

	// Marginals returns mean and variance of every coordinate.
	Marginals(nat []float64) (mean, variance []float64, err error)

	// Moments returns mean and covariance of nat, d² numbers.
	Moments(nat []float64) (mean []float64, cov *mat.SymDense, err error)

	// KL returns the Kullback-Leibler divergence KL(p‖q) in nats.
	KL(p, q []float64) (float64, error)

	// Entropy returns the differential entropy of nat in nats.
	Entropy(nat []float64) (float64, error)

	// LogDensity returns the log density of nat at theta.
	LogDensity(nat, theta []float64) (float64, error)

	// Sampler prepares drawing from nat.
	Sampler(nat []float64) (Sampler, error)

	// ProjectLikelihood writes to dst the factor of this family that stands
	// for a likelihood exp(sᵀθ − θᵀSθ/2), given in the layout of Full(d), at
	// a q with the given mean: the gradient of its expected logarithm in the
	// mean parameters of q. For a full family that is the likelihood itself.
	// For a diagonal one it is diag(S), and diag(S)m + s − Sm for precision
	// times mean (Khan and Lin, "Conjugate-Computation Variational
	// Inference", 2017).
	ProjectLikelihood(dst, likelihood, mean []float64)
}

// A Sampler writes one draw to dst. normal yields independent standard normal
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
