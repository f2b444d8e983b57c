package method

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/phase"
)

// Sums is the base of methods with one release per round, where rounds may use different shares of
// the budget. All rounds have the same noise. If a round's clipping bound is w, its noise
// multiplier is σ/w, and it costs w² times as much, in μ², as a round with bound 1.
type Sums struct {
	*Setting
	Sending
	mechanisms []*dpmech.GaussianSum // mechanism for each round; all have the same lattice
	dearest    []*dpmech.GaussianSum // the mechanisms again, the most expensive one first
}

var errDifferent = errors.New("the rounds have different noise")

// NewSums returns the base of a method with a separate mechanism for each round. Up to rounding,
// the noise Clip·NoiseMultiplier must be the same in all configs.
func (s *Setting) NewSums(configs []dpmech.Config, exponent int) (*Sums, error) {
	b := &Sums{Setting: s, Sending: Sending{Messages{Exponent: exponent}}}
	var noise float64
	for _, cfg := range configs {
		noise = max(noise, cfg.Clip*cfg.NoiseMultiplier)
	}
	for _, cfg := range configs {
		cfg.Adjacency = s.Study.Privacy.Adjacency
		if cfg.Clip*cfg.NoiseMultiplier < noise*(1-1e-12) {
			return nil, errDifferent
		}
		// The lattice depends on this product. Raising the multiplier a little makes sure that rounding
		// cannot lead to a different lattice.
		for cfg.Clip*cfg.NoiseMultiplier < noise {
			cfg.NoiseMultiplier = math.Nextafter(cfg.NoiseMultiplier, math.Inf(1))
		}
		m, err := dpmech.NewGaussianSum(cfg)
		if err != nil {
			return nil, fmt.Errorf("%w (a release is a client's answer in a round)", err)
		}
		b.mechanisms = append(b.mechanisms, m)
		b.messages.Size = max(b.messages.Size, m.Dim())
		within := phase.RangeOf(s.Study, m, s.Clients)
		b.messages.Range = dpmech.Range{Signal: max(b.messages.Range.Signal, within.Signal), Noise: max(b.messages.Range.Noise, within.Noise)}
		b.messages.Lattice = m.Lattice()
	}
	for _, m := range b.mechanisms {
		if m.Lattice() != b.messages.Lattice {
			return nil, errDifferent
		}
	}
	b.dearest = slices.Clone(b.mechanisms)
	// The noise is rounded up to a lattice step. Rounds with equal clipping bounds may therefore
	// differ by one step of noise.
	mu := func(m *dpmech.GaussianSum) float64 {
		e := m.Event().(accountant.DiscreteGaussian)
		return e.Sensitivity / e.Sigma
	}
	slices.SortStableFunc(b.dearest, func(x, y *dpmech.GaussianSum) int { return cmp.Compare(mu(y), mu(x)) })
	return b, nil
}

// Mechanism returns the mechanism for a round. The first round has number 1.
func (s *Sums) Mechanism(round int) *dpmech.GaussianSum { return s.mechanisms[round-1] }

// Exact implements [Method]. λ is computed in floating point.
func (s *Sums) Exact() bool { return false }

// Noise implements [Method]. It describes the most expensive round.
func (s *Sums) Noise() Noise { return NoiseOf(s.dearest[0]) }

// Forecast implements [Method].
func (s *Sums) Forecast() Forecast { return s.NewForecast(s.Noise()) }

// Releases implements [Method].
func (s *Sums) Releases() int { return len(s.mechanisms) }

// ReleasesAfter implements [Method].
func (s *Sums) ReleasesAfter(rounds int) int { return min(rounds, len(s.mechanisms)) }

// Event implements [Method]. It returns the cost of the most expensive rounds, as many as releases
// says. This is an upper bound for any set of as many rounds.
func (s *Sums) Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return s.Increment(shares, adjacency, 0, releases)
}

// Increment implements [Method]. Release number k is charged as the k-th most expensive round, no
// matter which round it belongs to, and as if it were as long as the longest release. So the
// charges always cover the releases.
func (s *Sums) Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	all := accountant.Composed{}
	for _, m := range s.dearest[from:to] {
		e := m.EventFor(shares, adjacency).(accountant.DiscreteGaussian)
		e.Dim = s.messages.Size
		all = append(all, e)
	}
	return all, nil
}
