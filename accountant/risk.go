package accountant

import (
	"fmt"
	"math"
)

// This file translates a profile into the success of attacks. An attacker wants to find out from
// which of two adjacent inputs a release was computed, for example whether a certain record was
// used. An attack is any rule that answers yes or no, given the release. If the record was used,
// the probability of a yes is the true-positive rate. If it was not, it is the false-positive rate.
// The bounds hold for all attacks, whatever they know about the other records and however much they
// compute.

// TruePositiveRate returns bounds on the largest true-positive rate of any attack whose
// false-positive rate is at most fpr, where 0 < fpr < 1. It is the larger of the rates for the two
// orders of the inputs. For one order, the rate is the dual
//
//	inf over a > 0 of H_a(P‖Q) + a·fpr,   H_a(P‖Q) = ∫ (P − aQ)₊,
//
// of the Neyman-Pearson test. The two orders are different tests, so each has its own rate (Zhu,
// Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function", 2022,
// section 2). Each a gives a valid bound, so a need not be the best choice, but H_a must be
// certified. For Gaussian releases, the rate is Φ(Φ⁻¹(fpr) + μ) (Dong, Roth, Su 2022).
func (p Profile) TruePositiveRate(fpr float64) (Bound, error) {
	return p.truePositiveRate(p.attacks(), fpr)
}

func (p Profile) truePositiveRate(a attacks, fpr float64) (Bound, error) {
	if !(fpr > 0 && fpr < 1) {
		return Bound{}, fmt.Errorf("true-positive rate: the false-positive rate must lie in (0, 1), got %g", fpr)
	}
	// Let P′ and Q′ be within max divergence r of P and Q. If a test has the error rates α and β
	// for P and Q, its error rates for P′ and Q′ are at most e^r·α and e^r·β. The same holds the
	// other way round.
	r := p.divergence
	over, under := fpr, fpr
	if r > 0 {
		over, under = min(fpr*math.Exp(r)*(1+0x1p-50), 1-0x1p-53), fpr*math.Exp(-r)*(1-0x1p-50)
	}
	b := Bound{Method: p.tightest(), Certified: true}
	if p.Gaussian() {
		b.Lower, b.Upper = gaussianRate(p.leastMu, under), gaussianRateAbove(p.mu, over)
	} else {
		b.Lower, b.Upper = a.rates(under, over)
	}
	b.Lower = min(1, max(fpr, b.Lower*math.Exp(-r)))
	b.Upper = min(1, max(fpr, b.Upper*math.Exp(r)))
	b.Vacuous = b.Upper == 1
	return b, nil
}

// TradeOff returns the bounds of TruePositiveRate at each rate in fprs.
func (p Profile) TradeOff(fprs []float64) ([]Bound, error) {
	curve := make([]Bound, len(fprs))
	a := p.attacks()
	for i, fpr := range fprs {
		var err error
		if curve[i], err = p.truePositiveRate(a, fpr); err != nil {
			return nil, err
		}
	}
	return curve, nil
}

// Advantage returns bounds on the largest difference between an attack's true-positive and
// false-positive rates. This is the total variation distance, δ(0).
func (p Profile) Advantage() (Bound, error) { return p.Delta(0) }

// Accuracy returns bounds on the largest probability that an attacker guesses the input right, if
// both inputs are equally likely a priori. This is (1 + δ(0))/2.
func (p Profile) Accuracy() (Bound, error) {
	b, err := p.Advantage()
	b.Lower, b.Upper = (1+b.Lower)/2, (1+b.Upper)/2
	return b, err
}

// OddsFactor returns bounds on the logarithm of the factor by which a release can multiply an
// attacker's odds. With at most the given probability p over the noise, a release exceeds this
// factor.
//
// Let ε(δ) be the smallest ε of the profile for δ, and let L be the loss. The profile is
//
//	δ(ε) = E[(1 − e^(ε−L))₊].
//
// So for each δ < p, the probability that L exceeds ε(δ) − log(1 − δ/p) is at most p. The upper
// bound is the smallest such number over several δ. It may be larger than ε(p). The lower bound is
// ε(p), because δ(ε) is at most the probability that L exceeds ε.
func (p Profile) OddsFactor(probability float64) (Bound, error) {
	if !(probability > 0 && probability < 1) {
		return Bound{}, fmt.Errorf("odds factor: the probability must lie in (0, 1), got %g", probability)
	}
	beyond := func(share float64) float64 { return -math.Log1p(-share) * (1 + 0x1p-50) }
	best, least := 0.0, math.Inf(1)
	for _, share := range []float64{0.5, 0.3, 0.2, 0.12, 0.07, 0.04, 0.02, 0.01, 0.003, 0.001, 1e-4} {
		// Rényi divergences are cheap, and accurate enough to choose the δ for the bound below.
		b, err := p.EpsilonBy(RenyiDP, probability*share)
		if log := b.Upper + beyond(share); err == nil && log < least {
			best, least = share, log
		}
	}
	if math.IsInf(least, 1) {
		best = 0.5
	}
	b, err := p.Epsilon(probability * best)
	if err != nil {
		return b, err
	}
	b.Upper += beyond(best)
	below, err := p.Epsilon(probability)
	b.Lower = min(b.Upper, below.Lower)
	return b, err
}

// Posterior returns the probability that the record was used, after an attack with the
// true-positive rate tpr and the false-positive rate fpr has answered yes. prior is the probability
// before the attack.
func Posterior(prior, tpr, fpr float64) float64 {
	yes := prior * tpr
	if yes == 0 {
		return 0
	}
	return yes / (yes + (1-prior)*fpr)
}

// GroupEpsilon returns bounds on the smallest ε for which the composition is (ε, δ)-private for
// groups of size records. Two inputs then differ in at most size records, which are added, removed
// or replaced as the adjacency says.
//
// For Gaussian releases, the parameter μ of a group is exactly size times that of a record. For
// other releases, the upper bound is the smallest bound of [GroupPrivacy] over all (ε, δ) in the
// profile. It ignores the fact that a whole group is seldom sampled together. The lower bound is
// that of one record.
func (p Profile) GroupEpsilon(size int, delta float64) (Bound, error) {
	if size < 1 {
		return Bound{}, fmt.Errorf("group: the size must be at least 1, got %d", size)
	}
	one, err := p.Epsilon(delta)
	if err != nil || size == 1 {
		return one, err
	}
	if k := float64(size); p.Gaussian() && p.divergence == 0 {
		group := p
		group.mu, group.leastMu = up(k*p.mu), k*p.leastMu*(1-0x1p-52)
		return group.Epsilon(delta)
	}
	b := one
	b.Upper, err = p.groupEpsilon(size, delta)
	b.Vacuous = math.IsInf(b.Upper, 1)
	return b, err
}

// groupEpsilon returns an upper bound on the ε of a group of size records. It looks at the pairs
// (ε, δ₁) in the profile for which [GroupPrivacy] gives at most δ. It takes approximately the one
// with the least ε, and returns size·ε, certified.
func (p Profile) groupEpsilon(size int, delta float64) (float64, error) {
	k := float64(size)
	keeps := func(epsilon, one float64) bool {
		_, total := GroupPrivacy(epsilon, one, size)
		return total <= delta
	}
	directions := p.attacks().above
	likely := func(epsilon float64) bool {
		var one float64
		for _, d := range directions {
			one = max(one, d.forth.delta(epsilon))
		}
		return keeps(epsilon, one)
	}
	start, err := p.Epsilon(delta / k)
	if err != nil || start.Vacuous {
		return math.Inf(1), err
	}
	low, high := start.Upper, start.Upper
	for step := max(start.Upper, 1e-3) / 2; !likely(high); step *= 2 {
		if low, high = high, high+step; k*high > 1e5 {
			return math.Inf(1), nil
		}
	}
	for high-low > 1e-5*high {
		if middle := (low + high) / 2; likely(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	for step := 1e-5; step < 2; step *= 4 {
		b, err := p.Delta(high)
		if err != nil {
			return 0, err
		}
		if keeps(high, b.Upper) {
			return up(k * high), nil
		}
		high *= 1 + step
	}
	return math.Inf(1), nil
}
