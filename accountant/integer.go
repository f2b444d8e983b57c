package accountant

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A discreteSum is the distribution of the sum of n independent samples of the discrete Gaussian
// N_Z(0, σ²), on the integers from −reach to reach. This is the noise of secure sums. err bounds
// the relative error of each mass, and rest bounds the mass that is missing.
type discreteSum struct {
	half []float64 // masses at 0, 1, ..., reach; the distribution is symmetric
	rest float64
	err  float64
}

const (
	// tailExponent is the number t in a tail bound: the probability that the sum of n samples of
	// N_Z(0, σ²) exceeds √(2tnσ²) is at most e^(−t). For this t, that is 2^−989. The bound follows
	// from
	//
	//	E e^(sX) ≤ e^(s²σ²/2)
	//
	// where X has the distribution N_Z(0, σ²) (Canonne, Kamath, Steinke, "The Discrete Gaussian for
	// Differential Privacy", 2020).
	tailExponent = 686

	// leastMass is the smallest mass that a discreteSum keeps, so that no mass is a subnormal
	// number.
	leastMass = 0x1p-1000

	// unitRoundoff is the largest relative error of one rounding.
	unitRoundoff = 0x1p-53

	// maxSumVariance is the largest variance nσ² that a sum may have. The computation then takes
	// seconds and a megabyte.
	maxSumVariance = 1e7
)

// newDiscreteSum returns the distribution of the sum of n samples of the discrete Gaussian with σ²
// = variance. It requires σ² ≥ 2⁻²⁰, n ≥ 1 and nσ² ≤ 10⁷.
func newDiscreteSum(variance float64, n int) (discreteSum, error) {
	if err := errors.Join(
		atLeast("variance", variance, 0x1p-20),
		atLeast("number of noise shares", float64(n), 1),
	); err != nil {
		return discreteSum{}, fmt.Errorf("sum of discrete Gaussians: %w", err)
	}
	if v := variance * float64(n); v > maxSumVariance {
		return discreteSum{}, fmt.Errorf("sum of discrete Gaussians: %d shares of variance %g have variance %g, and at most %g is supported", n, variance, v, float64(maxSumVariance))
	}
	// If σ² ≥ 4.5, the distance between the sum and a single discrete Gaussian is negligible.
	if distance := sharesDistance(math.Sqrt(variance), n); distance <= 0x1p-60 {
		law := discreteGaussianLaw(variance, n)
		law.err += 2 * distance
		return law, nil
	}
	one := discreteGaussianLaw(variance, 1)
	law, count := one, 1
	for i := bits.Len(uint(n)) - 2; i >= 0; i-- {
		count *= 2
		law = law.doubled(variance, count)
		if n>>i&1 == 1 {
			count++
			law = law.plus(one, variance, count)
		}
	}
	return law, nil
}

// sharesDistance bounds the max divergence, in both directions, between the sum of n samples of
// N_Z(0, σ²) and one sample of N_Z(0, nσ²):
//
//	10 Σ_{k=1}^{n−1} e^(−2π²σ²k/(k+1))
//
// (Kairouz, Liu, Steinke, "The Distributed Discrete Gaussian Mechanism", 2021, corollary 12). The
// corollary requires σ ≥ 1/2. If σ is smaller, sharesDistance returns +Inf.
func sharesDistance(sigma float64, n int) float64 {
	if n <= 1 {
		return 0
	}
	if !(sigma >= .5) {
		return math.Inf(1)
	}
	rate := 2 * math.Pi * math.Pi * sigma * sigma
	const listed = 10_000 // this many terms are added up one by one; the last one bounds all later terms
	var sum float64
	for k := 1; k < min(n, listed); k++ {
		sum += math.Exp(-rate * float64(k) / float64(k+1))
	}
	if n > listed {
		sum += float64(n-listed) * math.Exp(-rate*listed/(listed+1))
	}
	// The rounding error of an exponent grows with the exponent. The last factor covers it for all
	// terms that are normal float64 numbers. Smaller terms do not matter.
	return 10 * sum * (1 + 0x1p-41)
}

// sumReach returns the largest integer whose probability is kept in a [discreteSum].
func sumReach(variance float64, n int) int {
	return int(math.Sqrt(2 * tailExponent * variance * float64(n)))
}

// finish makes a discreteSum from half, where half[k] is the probability of k and of −k. missing
// bounds the probability that is not in half, and relative bounds the relative error of its
// elements. finish cuts off masses below leastMass at the end and counts them as missing. If half
// reaches as far as sumReach, it also counts a bound on the mass beyond.
func finish(half []float64, missing, relative, variance float64, n int) discreteSum {
	beyond := float64(len(half))
	rest := missing + 2*beyond*leastMass
	if len(half) > sumReach(variance, n) {
		rest += 2 * math.Exp(-beyond*beyond/(2*variance*float64(n)))
	}
	for half[len(half)-1] < leastMass {
		half = half[:len(half)-1]
	}
	return discreteSum{half: half, rest: rest * (1 + 0x1p-40), err: relative}
}

// discreteGaussianLaw returns N_Z(0, nσ²).
func discreteGaussianLaw(variance float64, n int) discreteSum {
	half := make([]float64, sumReach(variance, n)+1)
	var total compensated
	for k := range half {
		half[k] = expSquare(k, variance, n)
		total.add(half[k])
		if k > 0 {
			total.add(half[k])
		}
	}
	for k := range half {
		half[k] /= total.value()
	}
	// The exponential, the correction, the sum and the quotient each have an error of at most two
	// units in the last place.
	return finish(half, 0, 16*unitRoundoff, variance, n)
}

// expSquare returns exp(−k²/(2nσ²)). It corrects the rounding of the exponent, which might
// otherwise cause an error of hundreds of units in the last place.
func expSquare(k int, variance float64, n int) float64 {
	square, twice := float64(k)*float64(k), 2*float64(n)
	divisor := twice * variance
	divisorError := math.FMA(twice, variance, -divisor)
	x := square / divisor
	xError := (math.FMA(-x, divisor, square) - x*divisorError) / divisor
	return math.Exp(-x) * (1 - xError)
}

// doubled returns the distribution of the sum of two independent variables that both have the
// distribution s. n is the number of samples in the result.
//
// Let P be the mass function of s. The mass at z is the sum of P(x)P(z−x) over all x. P is
// log-concave, like all convolutions of log-concave distributions. So P(x)P(z−x) falls on both
// sides of x = z/2, and the terms are added from there outwards. If the last of m terms is at most
// 2⁻⁷⁰ times their sum, all later terms together are less than m/48 times this last term.
func (s discreteSum) doubled(variance float64, n int) discreteSum {
	half := make([]float64, min(sumReach(variance, n), 2*(len(s.half)-1))+1)
	most := 0
	for z := range half {
		x, y := (z+1)/2, z/2
		var sum float64
		if x == y && x < len(s.half) {
			sum = s.half[x] * s.half[y]
			x, y = x+1, y-1
		}
		terms := 1
		for ; x < len(s.half); x, y = x+1, y-1 {
			term := 2 * s.half[x] * s.half[max(y, -y)]
			sum += term
			terms++
			if term <= sum*0x1p-70 {
				break
			}
		}
		half[z] = sum
		most = max(most, terms)
	}
	relative := s.err*(2+s.err) + float64(most+4)*unitRoundoff + 0x1p-58
	return finish(half, 2*s.rest, relative, variance, n)
}

// plus returns the distribution of the sum of two independent variables, one with the distribution
// s and one with the distribution other. The range of other must not be larger than that of s.
func (s discreteSum) plus(other discreteSum, variance float64, n int) discreteSum {
	reach := len(other.half) - 1
	half := make([]float64, min(sumReach(variance, n), len(s.half)-1+reach)+1)
	for z := range half {
		for x := -reach; x <= reach; x++ {
			half[z] += other.pmf(x) * s.pmf(z-x)
		}
	}
	relative := s.err + other.err + s.err*other.err + float64(2*reach+4)*unitRoundoff
	return finish(half, s.rest+other.rest, relative, variance, n)
}

// pmf returns the probability of k. If half does not reach as far as k, it returns 0.
func (s discreteSum) pmf(k int) float64 {
	if k = max(k, -k); k < len(s.half) {
		return s.half[k]
	}
	return 0
}

// atoms returns the distribution of the privacy loss log P(k)/P(k−shift) if the noise k is drawn
// from P. Losses and masses are raised by more than their error. rest bounds the mass of losses
// that are infinite or not accurate.
func (s discreteSum) atoms(shift int) (losses, masses []float64, rest float64) {
	least := max(s.rest*0x1p60, 0x1p-900) // the bound s.rest on the mass that is missing from s is at most 2⁻⁶⁰ of least
	e := 1.001*s.err + 8*unitRoundoff + 0x1p-58
	var unlisted compensated
	for k := 1 - len(s.half); k < len(s.half); k++ {
		p, q := s.pmf(k), s.pmf(k-shift)
		if p < least || q < least {
			unlisted.add(p)
			continue
		}
		loss := math.Log(p / q)
		losses = append(losses, loss+2*e+math.Abs(loss)*2*unitRoundoff)
		masses = append(masses, p*(1+e))
	}
	return losses, masses, min(1, (unlisted.value()*(1+e)+s.rest)*raised)
}

// compensated is a sum of non-negative numbers. However many there are, its relative error is below
// two units in the last place (Neumaier 1974).
type compensated struct{ sum, lost float64 }

func (c *compensated) add(x float64) {
	next := c.sum + x
	if c.sum >= x {
		c.lost += (c.sum - next) + x
	} else {
		c.lost += (x - next) + c.sum
	}
	c.sum = next
}

func (c *compensated) value() float64 { return c.sum + c.lost }
