package dpmech

import (
	"fmt"
	"math/bits"
)

// maxLaplaceLaps bounds how many scales the discrete Laplace proposal may
// reach, so that a sample is bounded and sums of samples cannot overflow. The
// proposal passes it with probability e^(-2^20), less than 10^-455000, which is
// the statistical distance to the unbounded distribution.
const maxLaplaceLaps = 1 << 20

// MaxSigma is the largest standard deviation of a [DiscreteGaussian].
const MaxSigma = 1 << 26

// maxTerm bounds numerator and denominator of a σ, so that 2·numerator² is
// below 2^64.
const maxTerm = 1 << 31

// A DiscreteGaussian samples the discrete Gaussian N_Z(0, σ²), the distribution
// on the integers with probability proportional to exp(−x²/2σ²), exactly, for a
// rational σ: every decision compares integers with uniform integers, and no
// floating-point number occurs (Canonne, Kamath, Steinke, "The Discrete Gaussian
// for Differential Privacy", 2020, algorithms 1 to 3). The proposal's scale is
// t = σ instead of ⌊σ⌋+1: their proof holds for every t > 0, the fractions
// become smaller, and σ²/t = σ makes the acceptance exp(−(|y| − σ)²/2σ²).
//
// How long a sample takes depends on its value. Draw the noise of a round
// before the data is touched, and release at a time that the noise does not
// choose.
type DiscreteGaussian struct {
	num, den uint64 // σ = num/den in lowest terms
}

// NewDiscreteGaussian returns the sampler with standard deviation parameter
// sigma, an integer from 1 to [MaxSigma]. (The standard deviation of N_Z(0, σ²)
// is below σ by 1.06 parts in 10^7 for σ = 1 and agrees with it to the last bit
// of a float64 from σ = 2 on. Below σ = 1 it is visibly smaller.)
func NewDiscreteGaussian(sigma int64) (DiscreteGaussian, error) {
	return NewDiscreteGaussianRatio(sigma, 1)
}

// NewDiscreteGaussianRatio returns the sampler with parameter σ = num/den: both
// from 1 to 2^31, σ at most [MaxSigma].
func NewDiscreteGaussianRatio(num, den int64) (DiscreteGaussian, error) {
	if num < 1 || num > maxTerm || den < 1 || den > maxTerm {
		return DiscreteGaussian{}, fmt.Errorf("discrete Gaussian: sigma must be a ratio of integers in [1, %d], got %d/%d", maxTerm, num, den)
	}
	if num > den*MaxSigma {
		return DiscreteGaussian{}, fmt.Errorf("discrete Gaussian: sigma must be at most %d, got %d/%d", MaxSigma, num, den)
	}
	divisor := greatestCommonDivisor(uint64(num), uint64(den))
	return DiscreteGaussian{num: uint64(num) / divisor, den: uint64(den) / divisor}, nil
}

func greatestCommonDivisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Sigma returns the parameter σ, rounded to a float64.
func (g DiscreteGaussian) Sigma() float64 { return float64(g.num) / float64(g.den) }

// Bound returns a number that no sample exceeds in absolute value.
func (g DiscreteGaussian) Bound() int64 { return int64(g.num * (maxLaplaceLaps + 1) / g.den) }

// Fill sets every element of dst to an independent sample.
func (g DiscreteGaussian) Fill(dst []int64, src *Stream) {
	for i := range dst {
		dst[i] = g.Sample(src)
	}
}

// Sample returns one sample.
func (g DiscreteGaussian) Sample(src *Stream) int64 {
	for {
		y, negative := discreteLaplace(g.num, g.den, src)
		// Accept with probability exp(−(|y| − σ)²/2σ²), in units of 1/den.
		d := y * g.den
		if d < g.num {
			d = g.num - d
		} else {
			d -= g.num
		}
		if !bernoulliExpSquare(d, 2*g.num*g.num, src) {
			continue
		}
		if negative {
			return -int64(y)
		}
		return int64(y)
	}
}

// discreteLaplace samples the discrete Laplace distribution with scale num/den
// and returns magnitude and sign (algorithm 2).
func discreteLaplace(num, den uint64, src *Stream) (magnitude uint64, negative bool) {
	for {
		u := src.Uint64n(num)
		if !bernoulliExp(u, num, src) {
			continue
		}
		var laps uint64
		for laps < maxLaplaceLaps && bernoulliExp(1, 1, src) {
			laps++
		}
		magnitude = u + num*laps // < 2^52
		if den != 1 {
			magnitude /= den
		}
		negative = src.Uint64()&1 == 1
		if magnitude == 0 && negative {
			continue // zero has one sign, or it would be drawn twice as often
		}
		return magnitude, negative
	}
}

// bernoulliExpSquare returns true with probability exp(−d²/b), for b = 2·num².
func bernoulliExpSquare(d, b uint64, src *Stream) bool {
	// d ≤ (maxLaplaceLaps+1)·num, so that d²/b < 2^40 and Div64 holds it.
	hi, lo := bits.Mul64(d, d)
	whole, rest := bits.Div64(hi, lo, b)
	for ; whole > 0; whole-- {
		if !bernoulliExp(1, 1, src) {
			return false
		}
	}
	return bernoulliExp(rest, b, src)
}

// bernoulliExp returns true with probability exp(−a/b), for 0 ≤ a ≤ b, b > 0
// (algorithm 1): the length of the longest run of successes of Bernoulli(a/bk),
// k = 1, 2, ..., is even with that probability.
func bernoulliExp(a, b uint64, src *Stream) bool {
	for k := uint64(1); ; k++ {
		// Bernoulli(a/bk) as two draws, so that b·k cannot overflow.
		if src.Uint64n(b) >= a || k > 1 && src.Uint64n(k) != 0 {
			return k%2 == 1
		}
	}
}
