package accountant

import (
	"errors"
	"fmt"
)

// A Method is the name of an algorithm that computes ε or δ.
type Method string

const (
	// Tightest means Exact if all releases are Gaussian, and otherwise LossDistribution with
	// narrowed bounds on ε.
	Tightest Method = "tightest"
	// Planned is Tightest without the narrowed bounds. It is used for calibrations and for the
	// costs that a study declares. Because the noise of studies is computed from these bounds, no
	// bit of them may change.
	Planned Method = "planned"
	// Exact uses the closed form for composed Gaussian releases (Balle and Wang 2018; Dong, Roth,
	// Su 2022).
	Exact Method = "exact Gaussian"
	// LossDistribution composes discretised privacy loss distributions. The lower and upper bounds
	// are certified.
	LossDistribution Method = "privacy loss distribution"
	// Contour inverts the moment generating function numerically. It is accurate to a
	// dozen digits but not certified.
	Contour Method = "contour integral"
	// RenyiDP derives ε or δ from Rényi divergences at real orders.
	RenyiDP Method = "Rényi DP"
	// FixedSize uses the bound of Wang, Balle, Kasiviswanathan (2019) on Rényi
	// divergences under sampling without replacement.
	FixedSize Method = "Rényi DP of fixed-size samples"
	// Moments is the moments accountant in its published form (Abadi et al. 2016).
	Moments Method = "moments accountant"
	// Advanced is advanced composition with amplification by sampling (Jälkö, Dikmen, Honkela,
	// "Differentially Private Variational Inference for Non-conjugate Models", 2017).
	Advanced Method = "advanced composition"
	// Basic adds up the ε and the δ of all releases.
	Basic Method = "basic composition"
)

// Methods returns the methods that [Profile.EpsilonBy] accepts, except Tightest and Planned,
// roughly from the tightest to the loosest.
func Methods() []Method {
	return []Method{Exact, LossDistribution, Contour, RenyiDP, FixedSize, Moments, Advanced, Basic}
}

// answers has the two functions by which a method computes bounds: bounds on ε for a given δ, and
// on δ for a given ε. The functions take the given number twice: low is for the upper bound, and
// high for the lower bound. The two differ only for discrete noise, which is not exactly Gaussian.
type answers struct {
	certified      bool
	epsilon, delta func(p Profile, low, high float64) (Bound, error)
}

func (m Method) answers() (answers, error) {
	switch m {
	case Exact:
		return answers{true, Profile.exactEpsilon, Profile.exactDelta}, nil
	case LossDistribution:
		return answers{true, Profile.certifiedEpsilon, Profile.certifiedDelta}, nil
	case Contour:
		return answers{false, Profile.estimatedEpsilon, Profile.estimatedDelta}, nil
	case RenyiDP:
		return answers{true, Profile.renyiEpsilon, Profile.renyiDelta}, nil
	case FixedSize:
		return answers{true, upperOnly(Profile.fixedSizeEpsilon), epsilonOnly}, nil
	case Moments:
		return answers{true, upperOnly(Profile.momentsEpsilon), epsilonOnly}, nil
	case Advanced:
		return answers{true, upperOnly(Profile.advancedEpsilon), epsilonOnly}, nil
	case Basic:
		return answers{true, upperOnly(Profile.basicEpsilon), epsilonOnly}, nil
	}
	return answers{}, fmt.Errorf("unknown method %q: use one of %q", string(m), append(Methods(), Tightest, Planned))
}

// errNothing is returned if a method does not apply to the composition.
var errNothing = errors.New("the method does not apply to this composition")

func upperOnly(f func(p Profile, delta float64) (float64, error)) func(Profile, float64, float64) (Bound, error) {
	return func(p Profile, low, _ float64) (Bound, error) {
		upper, err := f(p, low)
		return Bound{Upper: upper}, err
	}
}

func epsilonOnly(Profile, float64, float64) (Bound, error) {
	return Bound{}, errors.New("the method computes ε only")
}

func (p Profile) tightest() Method {
	if p.Gaussian() {
		return Exact
	}
	return LossDistribution
}

func (p Profile) exactEpsilon(low, high float64) (b Bound, err error) {
	if !p.Gaussian() {
		return b, errNothing
	}
	above := func(epsilon float64) float64 { return gaussianDeltaAbove(p.mu, epsilon) }
	below := func(epsilon float64) float64 { return gaussianDeltaBelow(p.leastMu, epsilon) }
	return Bound{Lower: leastEpsilon(below, high), Upper: leastEpsilon(above, low)}, nil
}

func (p Profile) exactDelta(low, high float64) (b Bound, err error) {
	if !p.Gaussian() {
		return b, errNothing
	}
	return Bound{Lower: gaussianDeltaBelow(p.leastMu, high), Upper: gaussianDeltaAbove(p.mu, low)}, nil
}

// gaussianMargin returns twice the relative error of GaussianDelta. The error grows with ε/μ − μ/2.
func gaussianMargin(mu float64) float64 { return 0x1p-40 + mu*mu*0x1p-51 }

func gaussianDeltaAbove(mu, epsilon float64) float64 {
	return min(1, GaussianDelta(mu, epsilon)*(1+gaussianMargin(mu)))
}

func gaussianDeltaBelow(mu, epsilon float64) float64 {
	return GaussianDelta(mu, epsilon) * max(0, 1-gaussianMargin(mu))
}

// overDirections returns the larger of the bounds for the two orders of two adjacent inputs.
func overDirections(all []*composition, bound func(c *composition) (Bound, error)) (b Bound, err error) {
	for _, c := range all {
		one, err := bound(c)
		if err != nil {
			return b, err
		}
		b.Lower, b.Upper = max(b.Lower, one.Lower), max(b.Upper, one.Upper)
	}
	return b, nil
}

func (p Profile) certifiedEpsilon(low, high float64) (Bound, error) {
	return p.certified(low, high, (*composition).certifiedEpsilon, (*composition).renyiEpsilon), nil
}

func (p Profile) certifiedDelta(low, high float64) (Bound, error) {
	return p.certified(low, high, (*composition).certifiedDelta, (*composition).renyiDelta), nil
}

// certified returns bounds on ε for a given δ, or on δ for a given ε. The upper bound is for low,
// and the lower bound for high.
func (p Profile) certified(low, high float64,
	bounds func(c *composition, x float64, s side) (lower, upper float64),
	renyi func(c *composition, x float64) (upper, order float64),
) (b Bound) {
	// covered reports whether there is no need to compute the bounds in this direction, because its
	// cheap Rényi bound does not exceed the lower bound found so far. This often happens for
	// addition, which usually costs less than removal.
	covered := func(c *composition, x float64) bool {
		if b.Lower == 0 {
			return false
		}
		upper, _ := renyi(c, x)
		return upper <= b.Lower
	}
	// The upper and the lower bound come from the same distribution, so one call computes both.
	if p.oneLaw() && low == high {
		for _, c := range p.upper() {
			if !covered(c, low) {
				lower, upper := bounds(c, low, both)
				b.Lower, b.Upper = max(b.Lower, lower), max(b.Upper, upper)
			}
		}
		return b
	}
	for _, c := range p.upper() {
		_, upper := bounds(c, low, fromAbove)
		b.Upper = max(b.Upper, upper)
	}
	for _, c := range p.lower() {
		if !covered(c, high) {
			lower, _ := bounds(c, high, both)
			b.Lower = max(b.Lower, lower)
		}
	}
	return b
}

func (p Profile) estimatedEpsilon(low, _ float64) (Bound, error) {
	return overDirections(p.upper(), func(c *composition) (Bound, error) {
		epsilon, off, err := c.contourEpsilon(low)
		return Bound{Lower: max(0, epsilon-off), Upper: epsilon + off}, err
	})
}

func (p Profile) estimatedDelta(low, _ float64) (Bound, error) {
	return overDirections(p.upper(), func(c *composition) (Bound, error) {
		delta, off, err := c.contourDelta(low)
		return Bound{Lower: max(0, delta-off), Upper: delta + off}, err
	})
}

func (p Profile) renyiEpsilon(low, _ float64) (Bound, error) {
	return overDirections(p.worst(), func(c *composition) (Bound, error) {
		epsilon, _ := c.renyiEpsilon(low)
		return Bound{Upper: epsilon}, nil
	})
}

func (p Profile) renyiDelta(low, _ float64) (Bound, error) {
	return overDirections(p.worst(), func(c *composition) (Bound, error) {
		delta, _ := c.renyiDelta(low)
		return Bound{Upper: delta}, nil
	})
}

func (p Profile) momentsEpsilon(delta float64) (float64, error) {
	var most float64
	for _, c := range p.worst() {
		most = max(most, c.momentsEpsilon(delta))
	}
	return most, nil
}

// sampledAlike returns the μ that a step would have without sampling, the sampling rate, and the
// number of steps, for a composition of equal steps. It returns an error if the steps differ or if
// the classical theorems do not apply to them.
func (p Profile) sampledAlike() (mu, rate, times float64, err error) {
	if p.divergence > 0 {
		return 0, 0, 0, errNothing
	}
	if len(p.samples) == 0 {
		return p.mu, 1, 1, nil
	}
	if len(p.samples) > 1 || p.mu > 0 {
		return 0, 0, 0, errNothing
	}
	s := p.samples[0]
	switch e := s.event.(type) {
	case Poisson:
		if e.Adjacency != ReplaceOne {
			return 1 / e.Sigma, e.Rate, s.times, nil
		}
	case WithoutReplacement:
		if e.Adjacency == ReplaceOne {
			return 2 / e.Sigma, e.Rate, s.times, nil
		}
	}
	return 0, 0, 0, errNothing
}

// amplified returns the ε of one sampled step and the number of steps, for the classical theorems.
// The δ of all steps add up to delta.
func (p Profile) amplified(delta float64) (epsilon, times float64, err error) {
	mu, rate, times, err := p.sampledAlike()
	if err != nil {
		return 0, 0, err
	}
	inner := delta / (times * rate)
	if inner >= 1 {
		return 0, 0, errNothing
	}
	epsilon, _ = Amplify(GaussianEpsilon(mu, inner), inner, rate)
	return epsilon, times, nil
}

// advancedEpsilon returns the ε(δ) of [AdvancedComposition]. Half of δ is for the steps, and half
// for the composition's own δ′.
func (p Profile) advancedEpsilon(delta float64) (float64, error) {
	epsilon, times, err := p.amplified(delta / 2)
	if err != nil {
		return 0, err
	}
	total, _ := AdvancedComposition(epsilon, delta/(2*times), int(times), delta/2)
	return total, nil
}

func (p Profile) basicEpsilon(delta float64) (float64, error) {
	epsilon, times, err := p.amplified(delta)
	if err != nil {
		return 0, err
	}
	total, _ := BasicComposition(epsilon, delta/times, int(times))
	return total, nil
}
