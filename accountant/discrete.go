package accountant

import (
	"errors"
	"fmt"
	"math"
)

// DiscreteGaussian is a release of an integer vector whose L2 sensitivity is Sensitivity. The noise
// of each element is the sum of Shares independent samples of the discrete Gaussian N_Z(0, Sigma²).
//
// The accountant replaces the noise with a continuous Gaussian of variance v = Shares·Sigma² − 1/12
// that is rounded to integers, and adds a bound on the max divergence between the two. The proof
// has three parts:
//
//   - Rounding is post-processing, and a shift by integers commutes with it.
//   - The probability of the rounded Gaussian at k is the density at k of the sum of the Gaussian
//     and a uniform variable on [−½, ½]. This sum has variance s² = Shares·Sigma² and fourth
//     cumulant −1/120, so the log ratio to N_Z(0, s²) is −He₄(k/s)/(2880 s⁴) up to terms of order
//     s⁻⁶, where He₄ is the Hermite polynomial of degree 4. For |k| ≤ 64s it is below
//     2²⁴/(2880 s⁴). The accountant charges twice this value for every element. It charges
//     nothing for |k| > 64s, because N_Z(0, s²) has mass below 10⁻⁸⁸⁸ in this range and the
//     rounded Gaussian has less.
//   - The sum of n shares is within max divergence 10·Σ_k e^(−2π²σ²k/(k+1)) of one
//     discrete Gaussian of the summed variance (Kairouz, Liu, Steinke, "The Distributed
//     Discrete Gaussian Mechanism", 2021, corollary 12).
//
// The mechanisms of this project have Sigma ≥ 2²³, for which the divergence is below 2⁻⁷⁸ for each
// element. For Sigma below 1024 the omitted terms matter. The accountant then uses the exact
// distribution of the noise of a single integer, and refuses vectors.
type DiscreteGaussian struct {
	Sensitivity float64
	Sigma       float64
	Shares      int
	Dim         int
	Adjacency   Adjacency
}

// minDiscreteSigma is the smallest σ for releasing a vector. The log ratio in [DiscreteGaussian] is
// a series in 1/s², where s² is the variance of the noise, and the cost covers only its first term.
// At the integer k, the second term is (k/s)²/s² times the first. For |k| ≤ 64s and s > 1024, this
// is below 2⁻⁸.
const minDiscreteSigma = 1024

// smoothing is the variance of a Gaussian that the lower bound adds to the discrete Gaussian, as
// post-processing. If the discrete Gaussian has the variance s², the sum is N(0, s² + smoothing) up
// to a max divergence of 4e^(−2π²·smoothing), by Poisson summation. smoothingDivergence bounds
// this.
const (
	smoothing           = 4
	smoothingDivergence = 0x1p-110
)

func (e DiscreteGaussian) addTo(t *tally, times float64) error {
	if err := errors.Join(
		nonNegative("sensitivity", e.Sensitivity),
		positive("sigma", e.Sigma),
		atLeast("number of noise shares", float64(e.Shares), 1),
		atLeast("dimension", float64(e.Dim), 1),
		t.under(e.Adjacency),
	); err != nil {
		return fmt.Errorf("discrete Gaussian event: %w", err)
	}
	if e.Sigma < minDiscreteSigma {
		if e.Dim > 1 || e.Sensitivity != math.Trunc(e.Sensitivity) {
			return fmt.Errorf("discrete Gaussian event: sigma must be at least %d for vectors, got %g: use a finer lattice", minDiscreteSigma, e.Sigma)
		}
		if e.Sensitivity > 0 {
			t.sample(e, times)
		}
		return nil
	}
	variance := float64(e.Shares) * e.Sigma * e.Sigma
	perElement := 2*roundingDivergence(math.Sqrt(variance), 64) + sharesDistance(e.Sigma, e.Shares) + smoothingDivergence
	least, most := e.Sensitivity/math.Sqrt(variance+smoothing), e.Sensitivity/math.Sqrt(variance-1.0/12)
	t.gaussian(least, most*(1+0x1p-50), times)
	t.divergence = up(t.divergence + up(times*float64(e.Dim)*perElement))
	return nil
}

// laws returns distributions of the privacy loss for a single integer, where an attacker must tell
// the noise Y from Y + Sensitivity. In upper, losses and masses are rounded up, and in lower they
// are rounded down.
func (e DiscreteGaussian) laws() (upper, lower directions, err error) {
	sum, err := newDiscreteSum(e.Sigma*e.Sigma, e.Shares)
	if err != nil {
		return upper, lower, fmt.Errorf("discrete Gaussian event: %w", err)
	}
	losses, masses, rest := sum.atoms(int(e.Sensitivity))
	var above, below law
	above.infinite = rest
	for i, mass := range masses { // sum.atoms rounded losses and masses up, by at most a third of slack; the lower bound subtracts slack
		slack := 8*sum.err + 0x1p-48
		above.atoms = append(above.atoms, atom{losses[i], mass})
		below.atoms = append(below.atoms, atom{losses[i] - slack*(1+math.Abs(losses[i])), mass * (1 - slack)})
	}
	return same(above), same(below), nil
}

// roundingDivergence returns the leading term of the largest log ratio between the rounded Gaussian
// of variance s² − 1/12 and the discrete Gaussian with parameter s. The maximum is over all
// integers |k| ≤ z·s, where z must be at least 2.5.
func roundingDivergence(s, z float64) float64 { return math.Pow(z/s, 4) / 2880 }
