package accountant

import (
	"errors"
	"fmt"
	"math"
	"reflect"
)

// A Profile is the privacy profile δ(ε) of a composition. [Account] returns it.
type Profile struct {
	tally
	mu float64 // μ of the Gaussian release that is equivalent to all Gaussian releases in the composition

	above, below [][]step // compositions that bound the profile from above and below; one for removal and one for addition
	different    bool
	removeFirst  bool // whether the first composition, which is removal, has the larger Rényi divergences
}

// Account returns the privacy profile of e. It returns an error if an event is malformed, if there
// is no proof for its sampling under its adjacency, or if two events have different adjacencies.
func Account(e Event) (Profile, error) {
	t, err := tallyOf(e)
	if err != nil {
		return Profile{}, fmt.Errorf("account: %w", err)
	}
	p := Profile{tally: t, mu: math.Sqrt(t.muSquared) * (1 + 0x1p-50)}
	p.above, p.below = make([][]step, 2), make([][]step, 2)
	equal := true
	p.removeFirst = true
	add := func(side [][]step, d directions, times float64) {
		for i, l := range []law{d.remove, d.add} {
			if len(l.parts)+len(l.atoms) > 0 || l.infinite > 0 {
				side[i] = append(side[i], step{l, times})
			}
		}
		equal = equal && d.equal
		p.removeFirst = p.removeFirst && (d.equal || d.removeFirst)
	}
	if p.mu > 0 {
		l := gaussianLaw(p.mu)
		add(p.above, same(l), 1)
		if p.leastMu < p.mu*(1-0x1p-44) {
			l = gaussianLaw(p.leastMu)
			p.different = true
		}
		if p.leastMu > 0 {
			add(p.below, same(l), 1)
		}
	}
	for _, s := range t.samples {
		upper, lower, err := s.event.laws()
		if err != nil {
			return Profile{}, fmt.Errorf("account: %w", err)
		}
		p.different = p.different || !reflect.DeepEqual(upper, lower)
		add(p.above, upper, s.times)
		add(p.below, lower, s.times)
	}
	if equal {
		p.above, p.below = p.above[:1], p.below[:1]
	}
	return p, nil
}

// Check returns the same errors as [Account] without computing the privacy loss, which is much
// faster. It misses only one: the variance of discrete noise on a single integer may be too large
// to compute the loss.
func Check(e Event) error {
	if _, err := tallyOf(e); err != nil {
		return fmt.Errorf("account: %w", err)
	}
	return nil
}

// upper returns the compositions that bound the profile from above, one for each direction. lower
// returns those that bound it from below.
func (p Profile) upper() []*composition { return compositions(p.above) }

func (p Profile) lower() []*composition { return compositions(p.below) }

func compositions(sides [][]step) []*composition {
	var all []*composition
	for _, steps := range sides {
		if len(steps) > 0 {
			all = append(all, &composition{steps: steps})
		}
	}
	return all
}

// worst returns the compositions of [Profile.upper] that may have the largest Rényi divergences. If
// removal is known to have the larger ones, this is only the one for removal.
func (p Profile) worst() []*composition {
	all := p.upper()
	if p.removeFirst && len(all) > 1 {
		return all[:1]
	}
	return all
}

// oneLaw reports whether the upper and lower bounds come from the same distribution of the privacy
// loss. This distribution is then exact for the worst pair of inputs.
func (p Profile) oneLaw() bool { return !p.different }

// Mu returns the parameter μ of the single Gaussian release that is equivalent to all Gaussian
// releases in the composition. For discrete noise, this is true up to a max divergence, which all
// bounds of the profile include.
func (p Profile) Mu() float64 { return p.mu }

// Gaussian reports whether all releases are Gaussian. If they are, μ determines the profile.
func (p Profile) Gaussian() bool { return len(p.samples) == 0 }

// A Bound is an interval for the true value of ε, δ or a rate. Only if Certified is true is the
// value certain to be inside.
type Bound struct {
	Lower, Upper float64
	Method       Method
	// Certified is true if the bounds include all errors from discretisation, truncation and
	// rounding. If it is false, the width of the interval is only an estimate of the error. Do not
	// base a privacy guarantee on it.
	Certified bool
	// Vacuous is true if Upper says nothing, because it is +Inf for ε or 1 for δ.
	Vacuous bool
}

// Epsilon returns bounds on the smallest ε for which the composition is (ε, δ)-private, where 0 < δ
// < 1. It uses the method [Tightest].
func (p Profile) Epsilon(delta float64) (Bound, error) { return p.EpsilonBy(Tightest, delta) }

// Delta returns bounds on the smallest δ for which the composition is (ε, δ)-private, where ε ≥ 0.
// It uses the method [Tightest].
func (p Profile) Delta(epsilon float64) (Bound, error) { return p.DeltaBy(Tightest, epsilon) }

// EpsilonBy is like Epsilon, but uses the given method. If the method does not apply to the
// composition, it returns an error.
func (p Profile) EpsilonBy(m Method, delta float64) (Bound, error) {
	if !(delta > 0 && delta < 1) {
		return Bound{}, fmt.Errorf("profile: delta must lie in (0, 1), got %g", delta)
	}
	r := p.divergence
	low, high := delta, delta
	if r > 0 {
		low, high = delta*math.Exp(-r)*(1-0x1p-50), min(delta*math.Exp(r)*(1+0x1p-50), 1)
	}
	b, err := p.by(m, func(a answers) (Bound, error) { return a.epsilon(p, low, high) })
	if m == Tightest && err == nil && !p.Gaussian() {
		b = p.narrowed(b, low, high)
	}
	// If P and Q are (ε, δ)-close, then all P′ and Q′ within max divergence r of them are (ε + 2r,
	// e^r δ)-close. If the pairs are exchanged, the lower bound follows.
	b.Upper, b.Lower = b.Upper+2*r, max(0, b.Lower-2*r)
	b.Vacuous = math.IsInf(b.Upper, 1)
	return b, errors.Join(err, b.check())
}

// check returns an error if Lower exceeds Upper or a bound is NaN.
func (b Bound) check() error {
	if !(b.Lower >= 0 && b.Lower <= b.Upper*(1+1e-9)) {
		return fmt.Errorf("profile: %s: the bounds [%g, %g] contradict each other", b.Method, b.Lower, b.Upper)
	}
	return nil
}

// DeltaBy is like Delta, but uses the given method.
func (p Profile) DeltaBy(m Method, epsilon float64) (Bound, error) {
	if err := nonNegative("epsilon", epsilon); err != nil {
		return Bound{}, fmt.Errorf("profile: %w", err)
	}
	r := p.divergence
	b, err := p.by(m, func(a answers) (Bound, error) { return a.delta(p, max(0, epsilon-2*r), epsilon+2*r) })
	b.Upper, b.Lower = b.Upper*math.Exp(r), b.Lower*math.Exp(-r)
	if epsilon < 2*r {
		b.Upper += math.Expm1(2 * r)
	}
	b.Upper = min(1, b.Upper)
	b.Vacuous = b.Upper == 1
	return b, errors.Join(err, b.check())
}

// by calls compute with the functions of the method m, and enters the method's name in the result.
func (p Profile) by(m Method, compute func(answers) (Bound, error)) (Bound, error) {
	if m == Tightest || m == Planned {
		m = p.tightest()
	}
	a, err := m.answers()
	if err != nil {
		return Bound{}, fmt.Errorf("profile: %w", err)
	}
	b, err := compute(a)
	if err != nil {
		return Bound{}, fmt.Errorf("profile: %s: %w", m, err)
	}
	b.Method, b.Certified = m, a.certified
	return b, nil
}
