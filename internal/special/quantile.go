package special

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The functions in this file return the quantile of a distribution at the probability Φ(z), where z
// is a standard normal number. If z is random, the quantile is a draw from the distribution. If the
// arguments do not define a distribution, the result is NaN.

// GammaQuantile returns a quantile of the gamma distribution with the given shape and the rate 1.
// For a shape above 10⁸ it uses the approximation by Wilson and Hilferty (1931), with a relative
// error below 10⁻⁸.
func GammaQuantile(shape, z float64) float64 {
	const large = 1e8
	if !(shape > 0) || math.IsInf(shape, 1) || math.IsNaN(z) {
		return math.NaN()
	}
	cube := 1 - 1/(9*shape) + z/(3*math.Sqrt(shape))
	x := shape * cube * cube * cube
	target, _ := LogPhi(-math.Abs(z))
	switch {
	case shape > large:
		return x
	case z <= 0 && (shape < 1 || cube <= 0):
		x = math.Exp((target + Lgamma(shape+1)) / shape) // for small x the distribution function is x^shape/Γ(shape+1)
	case cube <= 0:
		x = shape
	}
	return gammaNewton(shape, x, target, z > 0)
}

// gammaNewton returns the number below which the gamma distribution has the log probability target
// or, if upper is true, above which it has it. It uses Newton's method in log x and begins at x.
// The method does not oscillate, because the log probability is a concave function of log x.
func gammaNewton(shape, x, target float64, upper bool) float64 {
	of, sign := mathext.GammaIncReg, 1.0
	if upper {
		of, sign = mathext.GammaIncRegComp, -1
	}
	for range 100 {
		probability := of(shape, x)
		density := math.Exp(shape*math.Log(x) - x - Lgamma(shape)) // density of log x
		step := sign * (target - math.Log(probability)) * probability / density
		if math.IsNaN(step) || math.IsInf(step, 0) {
			break // the probability underflows, and the current x is accurate enough
		}
		x *= math.Exp(max(-1, min(step, 1)))
		if math.Abs(step) < 1e-13 {
			break
		}
	}
	return x
}

// PoissonQuantile returns a quantile of the Poisson distribution with the given mean, below 10⁹.
func PoissonQuantile(mean, z float64) float64 {
	const most = 1e9
	switch {
	case !(mean >= 0 && mean < most) || math.IsNaN(z):
		return math.NaN()
	case mean == 0:
		return 0
	}
	return quantile(math.Inf(1), mean, math.Sqrt(mean), 1/math.Sqrt(mean), z, func(k float64) (below, above float64) {
		return mathext.GammaIncRegComp(k+1, mean), mathext.GammaIncReg(k+1, mean)
	})
}

// BinomialQuantile returns a quantile of the binomial distribution. The number of trials must be
// below 10⁹, and p is the probability of a success.
func BinomialQuantile(trials, p, z float64) float64 {
	const most = 1e9
	switch {
	case !(trials >= 0 && trials < most && trials == math.Trunc(trials) && p >= 0 && p <= 1) || math.IsNaN(z):
		return math.NaN()
	case trials == 0 || p == 0:
		return 0
	case p == 1:
		return trials
	}
	sd := math.Sqrt(trials * p * (1 - p))
	return quantile(trials, trials*p, sd, (1-2*p)/sd, z, func(k float64) (below, above float64) {
		return mathext.RegIncBeta(trials-k, k+1, 1-p), mathext.RegIncBeta(k+1, trials-k, p)
	})
}

// quantile returns the quantile of a random count from 0 to last at the probability Φ(z). cdf(k)
// returns the probability that the count is at most k (below) and the probability that it is larger
// (above). The search begins at the approximation by Cornish and Fisher (1938).
func quantile(last, mean, sd, skewness, z float64, cdf func(k float64) (below, above float64)) float64 {
	reached := func(k float64) bool {
		if k >= last {
			return true
		}
		below, above := cdf(k)
		if z > 0 {
			return above <= Phi(-z)
		}
		return below >= Phi(z)
	}
	guess := math.Floor(mean + sd*(z+skewness*(z*z-1)/6) + .5)
	k := min(max(guess, 0), last)
	for step := 1.0; !reached(k); step *= 2 {
		k += step
	}
	// k is large enough. The first loop finds a number that is too small, and the second bisects.
	low := k - 1
	for step := 1.0; low >= 0 && reached(low); step *= 2 {
		k, low = low, low-step
	}
	for low = max(low, -1); k-low > 1; {
		if middle := math.Floor((k + low) / 2); reached(middle) {
			k = middle
		} else {
			low = middle
		}
	}
	return min(k, last)
}
