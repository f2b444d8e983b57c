package dpmech

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// maxLaps bounds the size of a sample, so that sums of samples cannot overflow. No sample exceeds
// maxLaps·σ + σ in absolute value. An unbounded sample exceeds this bound with a probability below
// e^(−2^38) < 10^(−10^11), which is therefore the statistical distance between the two
// distributions.
const maxLaps = 1 << 20

// MaxSigma is the largest standard deviation that a [DiscreteGaussian] can have.
const MaxSigma = 1 << 26

// maxTerm bounds the numerator and the denominator of σ, so that 2·numerator² is below
// 2^64.
const maxTerm = 1 << 31

// A DiscreteGaussian samples the discrete Gaussian N_Z(0, σ²) exactly, for a rational σ. N_Z(0, σ²)
// is the distribution on the integers with probabilities proportional to exp(−x²/2σ²) (Canonne,
// Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020). Every decision compares
// integers with uniform integers. If a decision depends on an exponential, the sampler bounds the
// exponential from below and above, and tightens the bounds until they settle the decision. No
// decision depends on floating-point arithmetic. See [discreteZiggurat].
//
// The time that a sample takes depends on its value. Draw the noise of a round before the program
// reads the data, and release at a time that does not depend on the noise.
type DiscreteGaussian struct {
	num, den uint64 // σ = num/den, in lowest terms
	layers   *discreteZiggurat
}

// NewDiscreteGaussian returns the sampler whose parameter σ is sigma, an integer from 1 to
// [MaxSigma]. For σ = 1, the standard deviation of N_Z(0, σ²) is smaller than σ by 1.06 parts in
// 10^7. For σ ≥ 2, it is equal to σ to the last bit of a float64.
func NewDiscreteGaussian(sigma int64) (DiscreteGaussian, error) {
	return NewDiscreteGaussianRatio(sigma, 1)
}

// NewDiscreteGaussianRatio returns the sampler whose parameter σ is num/den. Both num and den must
// be from 1 to 2^31, and σ must be at most [MaxSigma]. In less than a millisecond,
// NewDiscreteGaussianRatio makes a table of 10 KB, which all samplers with the same σ share.
func NewDiscreteGaussianRatio(num, den int64) (DiscreteGaussian, error) {
	if num < 1 || num > maxTerm || den < 1 || den > maxTerm {
		return DiscreteGaussian{}, fmt.Errorf("discrete Gaussian: sigma must be a ratio of integers in [1, %d], got %d/%d", maxTerm, num, den)
	}
	if num > den*MaxSigma {
		return DiscreteGaussian{}, fmt.Errorf("discrete Gaussian: sigma must be at most %d, got %d/%d", MaxSigma, num, den)
	}
	divisor := greatestCommonDivisor(uint64(num), uint64(den))
	g := DiscreteGaussian{num: uint64(num) / divisor, den: uint64(den) / divisor}
	g.layers = zigguratOf(g.num, g.den)
	return g, nil
}

func greatestCommonDivisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Sigma returns the parameter σ, rounded to a float64.
func (g DiscreteGaussian) Sigma() float64 { return float64(g.num) / float64(g.den) }

// Bound returns the largest possible absolute value of a sample.
func (g DiscreteGaussian) Bound() int64 { return int64(sampleBound(g.num, g.den)) }

// sampleBound returns the largest possible absolute value of a sample, which is below
// 2^47.
func sampleBound(num, den uint64) uint64 { return num * (maxLaps + 1) / den }

// Mass returns the probability of k.
func (g DiscreteGaussian) Mass(k int64) float64 { return gaussianMass(float64(k), g.Sigma()) }

// gaussianMass returns the probability of k under N_Z(0, σ²). The sum of exp(−j²/2σ²) over all
// integers j is σ√(2π) times the sum of exp(−2π²σ²j²) (Poisson summation). For σ ≥ 1 the function
// computes the second sum, in which terms with |j| > 1 are too small to change a float64. For σ < 1
// it computes the first sum, in which terms with |j| > 8 are too small.
func gaussianMass(k, sigma float64) float64 {
	total := sigma * math.Sqrt(2*math.Pi) * (1 + 2*math.Exp(-2*math.Pi*math.Pi*sigma*sigma))
	if sigma < 1 {
		total = 1
		for j := 1.0; j <= 8; j++ {
			total += 2 * math.Exp(-j*j/(2*sigma*sigma))
		}
	}
	return math.Exp(-k*k/(2*sigma*sigma)) / total
}

// Event implements [Law]. For the proof see [accountant.DiscreteGaussian].
func (g DiscreteGaussian) Event(sensitivity float64, shares, dim int, adjacency accountant.Adjacency) accountant.Event {
	return accountant.DiscreteGaussian{Sensitivity: sensitivity, Sigma: g.Sigma(), Shares: shares, Dim: dim, Adjacency: adjacency}
}

// Fill sets every element of dst to an independent sample.
func (g DiscreteGaussian) Fill(dst []int64, src *Stream) {
	var buffer [64]uint64
	for rest := dst; len(rest) > 0; {
		// In each iteration, the loop draws one word for each sample that is still missing. If a
		// word is rejected, the next iteration replaces it.
		words := buffer[:min(len(rest), len(buffer))]
		src.Fill(words)
		rest = rest[g.layers.fill(rest, words, src):]
	}
}

// Sample returns one sample.
func (g DiscreteGaussian) Sample(src *Stream) int64 {
	for {
		if x, kept := g.layers.draw(src.Uint64(), src); kept {
			return x
		}
	}
}
