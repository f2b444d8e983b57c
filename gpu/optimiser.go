package gpu

import (
	"errors"
	"math"
)

// Optimiser moves a point so that a function increases. It may keep state from earlier steps. A
// step allocates no memory.
type Optimiser interface {
	// Step moves x along the gradient, with the step size rate. The slices must have the dimension
	// of the optimiser.
	Step(x, gradient []float64, rate float64)
	// Reset discards the state of earlier steps.
	Reset()
	// AppendState appends the state of the optimiser to dst.
	AppendState(dst []float64) []float64
	// SetState restores a state that AppendState appended. If the length is wrong, SetState returns
	// an error and changes nothing.
	SetState(state []float64) error
}

// SGD is stochastic gradient ascent without momentum.
type SGD struct{}

// Step implements Optimiser: x += rate·g.
func (SGD) Step(x, gradient []float64, rate float64) {
	for i, g := range gradient {
		x[i] += rate * g
	}
}

// Reset implements Optimiser. It does nothing, because there is no state.
func (SGD) Reset() {}

// Adam is the optimiser of Kingma and Ba (2015, Algorithm 1).
type Adam struct {
	beta1, beta2, epsilon float64
	first, second         []float64
	power1, power2        float64 // β₁ᵗ and β₂ᵗ after t steps
}

// NewAdam returns Adam for d coordinates. The decay rates of the moments, beta1 and beta2, must be
// in [0, 1). The number epsilon, which is added to the denominator of a step, must be positive. The
// paper recommends .9, .999 and 1e-8.
func NewAdam(d int, beta1, beta2, epsilon float64) (*Adam, error) {
	if d < 1 || !(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1) || !(epsilon > 0) {
		return nil, errors.New("adam: it needs a dimension, decay rates in [0, 1) and a positive epsilon")
	}
	a := &Adam{beta1: beta1, beta2: beta2, epsilon: epsilon, first: make([]float64, d), second: make([]float64, d)}
	a.Reset()
	return a, nil
}

// Decay returns β₁, β₂ and ε.
func (a *Adam) Decay() (beta1, beta2, epsilon float64) { return a.beta1, a.beta2, a.epsilon }

// Reset implements Optimiser.
func (a *Adam) Reset() {
	clear(a.first)
	clear(a.second)
	a.power1, a.power2 = 1, 1
}

// Step implements Optimiser.
func (a *Adam) Step(x, gradient []float64, rate float64) {
	a.power1 *= a.beta1
	a.power2 *= a.beta2
	fix1, fix2 := 1/(1-a.power1), 1/(1-a.power2)
	for i, g := range gradient {
		a.first[i] += (1 - a.beta1) * (g - a.first[i])
		a.second[i] += (1 - a.beta2) * (g*g - a.second[i])
		x[i] += rate * a.first[i] * fix1 / (math.Sqrt(a.second[i]*fix2) + a.epsilon)
	}
}

// AdaGrad is the diagonal method of Duchi, Hazan and Singer (2011).
type AdaGrad struct {
	epsilon float64
	sum     []float64
}

// NewAdaGrad returns AdaGrad for d coordinates. The number epsilon, which is added to the
// denominator of a step, must be positive.
func NewAdaGrad(d int, epsilon float64) (*AdaGrad, error) {
	if d < 1 || !(epsilon > 0) {
		return nil, errors.New("adagrad: it needs a dimension and a positive epsilon")
	}
	return &AdaGrad{epsilon: epsilon, sum: make([]float64, d)}, nil
}

// Reset implements Optimiser.
func (a *AdaGrad) Reset() { clear(a.sum) }

// Step implements Optimiser.
func (a *AdaGrad) Step(x, gradient []float64, rate float64) {
	for i, g := range gradient {
		a.sum[i] += g * g
		x[i] += rate * g / (math.Sqrt(a.sum[i]) + a.epsilon)
	}
}

// Schedule gives the step sizes.
type Schedule interface {
	// Rate returns the size of step t in a run of the given number of steps, 0 ≤ t < steps.
	Rate(t, steps int) float64
}

// LinearDecay is a schedule whose step size falls linearly from First in the first step to Last in
// the last.
type LinearDecay struct{ First, Last float64 }

// Rate implements Schedule.
func (l LinearDecay) Rate(t, steps int) float64 {
	if steps < 2 {
		return l.First
	}
	return l.First + (l.Last-l.First)*float64(t)/float64(steps-1)
}
