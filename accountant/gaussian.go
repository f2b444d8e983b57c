package accountant

import "math"

// GaussianDelta returns the smallest δ for which a Gaussian release with parameter μ =
// sensitivity/σ is (ε, δ)-private,
//
//	δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
//
// (Balle and Wang 2018, theorem 8), for μ ≥ 0 and ε ≥ 0. It is computed as
//
//	φ(x)(R(x) − R(x+μ)),  x = ε/μ − μ/2
//
// with the normal density φ and Mills' ratio R. This product does not overflow if ε is large, and
// does not lose digits if δ is small. The relative error of the result is about (1 + x² +
// μ²)·10⁻¹⁵. For δ above 10⁻²⁰⁰ and μ up to 20, this is below 10⁻¹².
func GaussianDelta(mu, epsilon float64) float64 {
	if mu == 0 {
		return 0
	}
	x := epsilon/mu - mu/2
	if x < 0 && mu > 1 {
		return normalCDF(-x) - normalDensity(x)*mills(x+mu)
	}
	return normalDensity(x) * millsDrop(x, mu)
}

// GaussianEpsilon returns the smallest ε for which a Gaussian release with parameter μ is (ε,
// δ)-private, rounded up. If δ(0) ≤ δ, it is 0, and if δ is 0, it is +Inf.
func GaussianEpsilon(mu, delta float64) float64 {
	return leastEpsilon(func(epsilon float64) float64 { return GaussianDelta(mu, epsilon) }, delta)
}

// leastEpsilon returns the smallest ε ≥ 0 for which deltaOf(ε) ≤ δ, rounded up. If there is none,
// it returns +Inf. deltaOf must be decreasing.
func leastEpsilon(deltaOf func(float64) float64, delta float64) float64 {
	if deltaOf(0) <= delta {
		return 0
	}
	if !(delta > 0) {
		return math.Inf(1)
	}
	low, high := 0.0, 1.0
	for !(deltaOf(high) <= delta) { // this form of the condition also holds if deltaOf returns NaN
		low, high = high, 2*high
		if math.IsInf(high, 0) {
			return high
		}
	}
	_, high = bisect(low, high, func(epsilon float64) bool { return deltaOf(epsilon) <= delta })
	return high
}

// GaussianMu returns the largest μ for which a Gaussian release is (ε, δ)-private, rounded down. It
// expects ε ≥ 0 and 0 < δ < 1.
func GaussianMu(epsilon, delta float64) float64 {
	return largest(func(mu float64) bool { return !(GaussianDelta(mu, epsilon) <= delta) })
}

// bisect narrows [low, high] down to two neighbouring float64 numbers. At the lower one, holds is
// false, and at the upper one, it is true. low and high must not be negative.
func bisect(low, high float64, holds func(float64) bool) (float64, float64) {
	// Floats that are not negative have the same order as the integers with the same bits.
	l, h := math.Float64bits(low), math.Float64bits(high)
	for h-l > 1 {
		middle := l + (h-l)/2
		if holds(math.Float64frombits(middle)) {
			h = middle
		} else {
			l = middle
		}
	}
	return math.Float64frombits(l), math.Float64frombits(h)
}

// GaussianGuess returns the largest probability with which an observer of a μ-Gaussian-DP release
// can guess the input, if two adjacent inputs are equally likely a priori:
//
//	(1 + δ(0))/2 = Φ(μ/2).
func GaussianGuess(mu float64) float64 { return normalCDF(mu / 2) }

// GaussianOdds returns log F, where F is a factor on an observer's odds between two adjacent
// inputs: with at most the given probability, a μ-Gaussian-DP release multiplies the odds by more
// than F. The privacy loss has the distribution N(μ²/2, μ²). The result is larger than the ε for
// which δ(ε) is the given probability, because δ also depends on how far the loss exceeds ε.
func GaussianOdds(mu, probability float64) float64 {
	return mu*mu/2 - mu*quantileBelow(probability)
}
