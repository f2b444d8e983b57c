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

// Sums is the base of methods with one release in each round, whose rounds may cost different
// shares of the budget. The noise is the same in all rounds: a round with clip w has the noise
// multiplier σ/w. It costs w² times as much, in μ², as a round with clip 1.
type Sums struct {
	*Setting
	Sending
	mechanisms []*dpmech.GaussianSum // mechanism of each round, all on the same lattice
	dearest    []*dpmech.GaussianSum // the mechanisms, the most expensive first
}

var errDifferent = errors.New("the rounds have different noise")

// NewSums returns the base of a method with a mechanism for each round. The noise of a round,
// Clip·NoiseMultiplier, must be the same in all configs, up to rounding.
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
		// The lattice follows from this product. Raise the multiplier until rounding cannot put the
		// round on another lattice.
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
	// Noise is rounded up to a lattice step, so equal clips may have noise that differs by one
	// step.
	mu := func(m *dpmech.GaussianSum) float64 {
		e := m.Event().(accountant.DiscreteGaussian)
		return e.Sensitivity / e.Sigma
	}
	slices.SortStableFunc(b.dearest, func(x, y *dpmech.GaussianSum) int { return cmp.Compare(mu(y), mu(x)) })
	return b, nil
}

// Mechanism returns the mechanism of a round, counted from 1.
func (s *Sums) Mechanism(round int) *dpmech.GaussianSum { return s.mechanisms[round-1] }

// Exact implements [Method]. λ is computed in floating point.
func (s *Sums) Exact() bool { return false }

// Noise implements [Method]. It is the noise of the most expensive round.
func (s *Sums) Noise() Noise { return NoiseOf(s.dearest[0]) }

// Forecast implements [Method].
func (s *Sums) Forecast() Forecast { return s.NewForecast(s.Noise()) }

// Releases implements [Method].
func (s *Sums) Releases() int { return len(s.mechanisms) }

// ReleasesAfter implements [Method].
func (s *Sums) ReleasesAfter(rounds int) int { return min(rounds, len(s.mechanisms)) }

// Event implements [Method]. It returns the cost of the k most expensive rounds, where k is
// releases, which bounds the cost of any k rounds.
func (s *Sums) Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return s.Increment(shares, adjacency, 0, releases)
}

// Increment implements [Method]. Release number k is charged as the k-th most expensive round,
// whichever round it belongs to, and with as many elements as the longest release. So no set of
// releases costs more than its charges.
func (s *Sums) Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	all := accountant.Composed{}
	for _, m := range s.dearest[from:to] {
		e := m.EventFor(shares, adjacency).(accountant.DiscreteGaussian)
		e.Dim = s.messages.Size
		all = append(all, e)
	}
	return all, nil
}
