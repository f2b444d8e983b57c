package math32

import "math"

// Softplus writes log(1 + eˣ) to dst, and the derivative 1/(1 + e⁻ˣ) to slope. Both are NaN for
// NaN.
func Softplus(dst, slope, x []float32) {
	whole := softplus(dst, slope, x)
	softplusPlain(dst[whole:], slope[whole:], x[whole:])
}

// Exp writes eˣ to dst.
func Exp(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}

// Bernoulli sets element i of dst to 1 with probability chances[i]/255, to within 2⁻¹⁶, and
// otherwise to 0. Each element uses 16 bits of words, lowest bits first, so one word is enough for
// four elements.
func Bernoulli(dst []float32, chances []byte, words []uint64) {
	for j, v := range chances {
		u := uint32(uint16(words[j/4] >> (j % 4 * 16)))
		dst[j] = 0
		// u is a random 16-bit number. If v = 255, the condition holds for every u; if v = 0, it
		// holds for none.
		if u < uint32(v)*257+uint32(v>>7) {
			dst[j] = 1
		}
	}
}

// SumSquares returns the sum of squares of the n elements of v with a relative error of at most
// n·2⁻⁵³. Each square is exact.
func SumSquares(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return s
}

func softplusPlain(dst, slope, x []float32) {
	for i, v := range x {
		t := math.Exp(-math.Abs(float64(v)))
		dst[i] = float32(max(float64(v), 0) + math.Log1p(t))
		if v < 0 {
			slope[i] = float32(t / (1 + t))
		} else {
			slope[i] = float32(1 / (1 + t))
		}
	}
}

// Adam is the optimizer of Kingma and Ba (2015, Algorithm 1) for a parameter vector, which is
// updated in pieces. It holds the state that all pieces share.
type Adam struct {
	Beta1, Beta2, Epsilon float64
	power1, power2        float64 // powers β₁ᵗ and β₂ᵗ of the decay rates after t steps
}

// adamStep has the constants of a step: 1−β₁, 1−β₂, rate/(1−β₁ᵗ), 1/(1−β₂ᵗ), ε, and the factor by
// which gradients are multiplied.
type adamStep [6]float32

// Next begins a step with the given learning rate. The step multiplies gradients by scale.
func (a *Adam) Next(rate, scale float64) AdamStep {
	if a.power1 == 0 && a.power2 == 0 {
		a.power1, a.power2 = 1, 1
	}
	a.power1 *= a.Beta1
	a.power2 *= a.Beta2
	return AdamStep{adamStep{
		float32(1 - a.Beta1), float32(1 - a.Beta2), float32(rate / (1 - a.power1)),
		float32(1 / (1 - a.power2)), float32(a.Epsilon), float32(scale),
	}}
}

// AdamStep is one step of [Adam]. It updates a parameter vector piece by piece.
type AdamStep struct{ constants adamStep }

// Rates returns the factors by which a step multiplies the moments: rate/(1−β₁ᵗ) for the first and
// 1/(1−β₂ᵗ) for the second. The denominators correct the bias of the moments.
func (s *AdamStep) Rates() (first, second float32) { return s.constants[2], s.constants[3] }

// Move moves w against the gradient, and updates the moments in first and second. All slices have
// the same length.
func (s *AdamStep) Move(w, first, second, gradient []float32) {
	whole := adam(&s.constants, w, first, second, gradient)
	adamPlain(&s.constants, w[whole:], first[whole:], second[whole:], gradient[whole:])
}

func adamPlain(c *adamStep, w, first, second, gradient []float32) {
	for i, g := range gradient {
		g *= c[5]
		first[i] += c[0] * (g - first[i])
		second[i] += c[1] * (g*g - second[i])
		root := float32(math.Sqrt(float64(second[i] * c[3])))
		w[i] -= c[2] * first[i] / (root + c[4])
	}
}
