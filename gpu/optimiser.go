package gpu

import "math"

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

// Adam is the optimiser of Kingma and Ba (2015, Algorithm 1), with the constants that the paper
// recommends.
type Adam struct {
	beta1, beta2, epsilon float64
	first, second         []float64
	power1, power2        float64 // β₁ᵗ and β₂ᵗ after t steps
}

// NewAdam returns Adam for d coordinates.
func NewAdam(d int) *Adam {
	a := &Adam{beta1: .9, beta2: .999, epsilon: 1e-8, first: make([]float64, d), second: make([]float64, d)}
	a.Reset()
	return a
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
type AdaGrad struct{ sum []float64 }

// NewAdaGrad returns AdaGrad for d coordinates.
func NewAdaGrad(d int) *AdaGrad { return &AdaGrad{make([]float64, d)} }

// Reset implements Optimiser.
func (a *AdaGrad) Reset() { clear(a.sum) }

// Step implements Optimiser.
func (a *AdaGrad) Step(x, gradient []float64, rate float64) {
	for i, g := range gradient {
		a.sum[i] += g * g
		x[i] += rate * g / (math.Sqrt(a.sum[i]) + 1e-8)
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
