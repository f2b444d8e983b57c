package accountant

import (
	"errors"
	"fmt"
	"math"
)

// A Profile is the privacy profile δ(ε) of a composition. Its answers are upper
// bounds: computed values are raised by more than their rounding error.
type Profile struct {
	mu         float64
	divergence float64
	adjacency  Adjacency
}

// Account adds up e. It fails if an event is malformed or if two events are
// stated under different adjacencies.
func Account(e Event) (Profile, error) {
	if e == nil {
		return Profile{}, errors.New("account: no event")
	}
	g, err := e.gaussian()
	if err != nil {
		return Profile{}, err
	}
	if math.IsInf(g.muSquared, 0) || math.IsInf(g.divergence, 0) {
		return Profile{}, errors.New("account: the releases cost more than a float64 holds")
	}
	return Profile{
		mu:         math.Sqrt(g.muSquared) * (1 + 0x1p-50),
		divergence: g.divergence,
		adjacency:  g.adjacency,
	}, nil
}

// Mu returns the parameter μ of the one Gaussian release that the composition
// amounts to, up to a max divergence that [Profile.Delta] takes into account.
func (p Profile) Mu() float64 { return p.mu }

// Adjacency returns the adjacency under which the profile holds. It is empty
// for a composition of nothing.
func (p Profile) Adjacency() Adjacency { return p.adjacency }

// Method names how the profile was computed.
func (p Profile) Method() string { return "exact Gaussian (Balle and Wang 2018)" }

// Delta returns an upper bound on the smallest δ for which the composition is
// (ε, δ)-private. ε must not be negative.
func (p Profile) Delta(epsilon float64) (float64, error) {
	if err := nonNegative("epsilon", epsilon); err != nil {
		return 0, fmt.Errorf("profile: %w", err)
	}
	return p.delta(epsilon), nil
}

// delta uses that, if P and Q are (ε, δ)-close, then P′ and Q′ within max
// divergence r of them are (ε + 2r, e^r δ)-close; below ε = 2r
// the missing part costs at most e^{2r} − 1.
func (p Profile) delta(epsilon float64) float64 {
	r := p.divergence
	delta := GaussianDelta(p.mu, max(0, epsilon-2*r)) * math.Exp(r)
	if epsilon < 2*r {
		delta += math.Expm1(2 * r)
	}
	// Twice the error of GaussianDelta, which grows with ε/μ − μ/2.
	margin := 0x1p-40 + p.mu*p.mu*0x1p-51
	return min(1, delta*(1+margin))
}

// Epsilon returns an upper bound on the smallest ε for which the composition is
// (ε, δ)-private, for 0 < δ < 1.
func (p Profile) Epsilon(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("profile: delta must lie in (0, 1), got %g", delta)
	}
	return leastEpsilon(p.delta, delta), nil
}
