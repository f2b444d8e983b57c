package gpu

import "math"

// Natural is an optimiser that moves the parameters (m, ρ) of a Gaussian q = N(m, diag s²) with s =
// e^ρ along the natural gradient. The natural gradient is the gradient times the inverse of the
// Fisher information of q. In each coordinate the inverse is s² for m and ½ for ρ (Amari, "Natural
// Gradient Works Efficiently in Learning", 1998). Natural has no state.
//
// In the metric of the Fisher information, a step in one coordinate has the length
//
//	√(Δm²/s² + 2Δρ²).
//
// A step that is longer than Reach is shortened to that length. Without this limit, a q that is
// wide compared with the likelihood would have a very long natural gradient, and noise would
// contribute as much to the step as the data. If Reach is 1, the mean of a coordinate moves by at
// most one standard deviation in a step.
type Natural struct{ Reach float64 }

// Step implements Optimiser. The first half of x is m and the second half is ρ.
func (n Natural) Step(x, gradient []float64, rate float64) {
	d := len(x) / 2
	for i := range d {
		sd := math.Exp(x[d+i])
		scaled := rate * sd
		// mean and spread are the steps of m and ρ, scaled so that their Euclidean length is the
		// length of the step in the metric of the Fisher information.
		mean := scaled * gradient[i]
		spread := scaled / sd * gradient[d+i] / math.Sqrt2 // NaN if sd overflows or is 0
		if length := math.Hypot(mean, spread); length > n.Reach {
			mean, spread = shorten(mean, spread, n.Reach)
		}
		x[i] += sd * mean
		x[d+i] += spread / math.Sqrt2
	}
}

// shorten returns the vector of the given length that has the direction of (x, y). x and y may be
// infinite.
func shorten(x, y, distance float64) (float64, float64) {
	largest := max(math.Abs(x), math.Abs(y))
	if math.IsInf(largest, 1) {
		x, y = direction(x), direction(y)
		largest = 1
	}
	x, y = x/largest, y/largest
	length := math.Hypot(x, y) / distance
	return x / length, y / length
}

// direction returns ±1 for ±Inf and 0 for finite numbers.
func direction(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.Copysign(1, x)
	}
	return 0
}

// Reset implements Optimiser. It does nothing, because there is no state.
func (Natural) Reset() {}

// AppendState implements Optimiser.
func (Natural) AppendState(dst []float64) []float64 { return dst }

// SetState implements Optimiser.
func (Natural) SetState(state []float64) error { return checkLength("natural gradient", len(state), 0) }
