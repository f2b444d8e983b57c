package accountant

import (
	"errors"
	"fmt"
	"math"
	"reflect"
)

// A Profile is the privacy profile δ(ε) of a composition.
type Profile struct {
	tally
	mu float64 // of the Gaussian releases together

	above, below [][]step // the steps, by direction, that bound it from above and below
	different    bool     // above and below are not the same
	removeFirst  bool     // Rényi divergences of the first direction are the larger
}

// Account adds up e. It fails if an event is malformed, if there is no proof for
// its sampling under its adjacency, or if two events are stated under different
// adjacencies.
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

// upper returns the compositions that bound the profile from above, one for each
// direction; lower those from below.
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

// worst returns the compositions of upper that decide Rényi divergences.
func (p Profile) worst() []*composition {
	all := p.upper()
	if p.removeFirst && len(all) > 1 {
		return all[:1]
	}
	return all
}

// oneLaw reports whether the bounds from above and below are those of one law,
// which is then that of what happens in the worst case.
func (p Profile) oneLaw() bool { return !p.different }

// Mu returns the parameter μ of the one Gaussian release that the Gaussian
// releases of the composition amount to, up to a max divergence that answers take
// into account.
func (p Profile) Mu() float64 { return p.mu }

// Gaussian reports whether there are only Gaussian releases, so that μ says all.
func (p Profile) Gaussian() bool { return len(p.samples) == 0 }

// Adjacency returns the adjacency under which the profile holds. It is empty
// for a composition of nothing.
func (p Profile) Adjacency() Adjacency { return p.adjacency }

// A Bound is an answer: the number that is asked for lies between Lower and Upper.
type Bound struct {
	Lower, Upper float64
	Method       Method
	// Certified says that no error of discretisation, truncation or rounding
	// was left out. Otherwise the bounds are an estimate and its estimated
	// error, and no promise may rest on them.
	Certified bool
	// Vacuous says that Upper promises nothing: it is +Inf, or 1 as a δ.
	Vacuous bool
}

// Epsilon returns bounds on the smallest ε for which the composition is
// (ε, δ)-private, for 0 < δ < 1, by the tightest method with a proof.
func (p Profile) Epsilon(delta float64) (Bound, error) { return p.EpsilonBy(Tightest, delta) }

// Delta returns bounds on the smallest δ for which the composition is
// (ε, δ)-private, for ε ≥ 0, by the tightest method with a proof.
func (p Profile) Delta(epsilon float64) (Bound, error) { return p.DeltaBy(Tightest, epsilon) }

// Curve returns Epsilon for every δ.
func (p Profile) Curve(deltas []float64) ([]Bound, error) {
	curve := make([]Bound, len(deltas))
	for i, delta := range deltas {
		var err error
		if curve[i], err = p.Epsilon(delta); err != nil {
			return nil, err
		}
	}
	return curve, nil
}

// EpsilonBy is Epsilon by a method of choice. It fails if the method says nothing
// about the composition.
func (p Profile) EpsilonBy(m Method, delta float64) (Bound, error) {
	if !(delta > 0 && delta < 1) {
		return Bound{}, fmt.Errorf("profile: delta must lie in (0, 1), got %g", delta)
	}
	r := p.divergence
	low, high := delta, delta
	if r > 0 {
		low, high = delta*math.Exp(-r)*(1-0x1p-50), min(delta*math.Exp(r)*(1+0x1p-50), 1)
	}
	b, err := p.ask(m, func(a answers) (Bound, error) { return a.epsilon(p, low, high) })
	// If P and Q are (ε, δ)-close, then P′ and Q′ within max divergence r of them
	// are (ε + 2r, e^r δ)-close, and the other way round.
	b.Upper, b.Lower = b.Upper+2*r, max(0, b.Lower-2*r)
	b.Vacuous = math.IsInf(b.Upper, 1)
	return b, errors.Join(err, b.check())
}

// check refuses bounds that cannot both be true, whatever made them so.
func (b Bound) check() error {
	if !(b.Lower >= 0 && b.Lower <= b.Upper*(1+1e-9)) {
		return fmt.Errorf("profile: %s: the bounds [%g, %g] contradict each other", b.Method, b.Lower, b.Upper)
	}
	return nil
}

// DeltaBy is Delta by a method of choice.
func (p Profile) DeltaBy(m Method, epsilon float64) (Bound, error) {
	if err := nonNegative("epsilon", epsilon); err != nil {
		return Bound{}, fmt.Errorf("profile: %w", err)
	}
	r := p.divergence
	b, err := p.ask(m, func(a answers) (Bound, error) { return a.delta(p, max(0, epsilon-2*r), epsilon+2*r) })
	b.Upper, b.Lower = b.Upper*math.Exp(r), b.Lower*math.Exp(-r)
	if epsilon < 2*r {
		b.Upper += math.Expm1(2 * r)
	}
	b.Upper = min(1, b.Upper)
	b.Vacuous = b.Upper == 1
	return b, errors.Join(err, b.check())
}

func (p Profile) ask(m Method, question func(answers) (Bound, error)) (Bound, error) {
	if m == Tightest {
		m = p.tightest()
	}
	a, err := m.answers()
	if err != nil {
		return Bound{}, fmt.Errorf("profile: %w", err)
	}
	b, err := question(a)
	if err != nil {
		return Bound{}, fmt.Errorf("profile: %s: %w", m, err)
	}
	b.Method, b.Certified = m, a.certified
	return b, nil
}
