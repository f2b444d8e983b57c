package solver

import (
	"encoding/json"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

// ClippedAnalytical computes a client's factor in a linear model with known noise. It clips every
// record's sufficient statistics and releases their sum once, through a [dpmech.GaussianSum]. Every
// proposal is a function of that release. Sharma (2019, equations 4.20 to 4.22) instead adds new
// noise in every round; see [PublishedAnalytical].
//
// Where the released precision is negative, the factor is set to zero
// ([gaussian.RepairLikelihood]). This is post-processing and costs no privacy.
type ClippedAnalytical struct {
	source   statisticsSource
	released []int64   // noisy statistics in lattice steps; nil before the release
	factor   []float64 // factor computed from released; nil before the release
}

// NewClippedAnalytical returns the solver for a shard. The mechanism must be for vectors of
// m.StatisticsSize() elements.
func NewClippedAnalytical(m *model.Linear, s *shard.Shard, mechanism *dpmech.GaussianSum) *ClippedAnalytical {
	return &ClippedAnalytical{source: newStatisticsSource(m, s, mechanism)}
}

// Propose implements [Solver]. The first call releases the statistics.
func (c *ClippedAnalytical) Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	var spent []accountant.Event
	if c.released == nil {
		released, err := c.source.release(src)
		if err != nil {
			return nil, err
		}
		c.released = released
		spent = []accountant.Event{c.source.mechanism.Event()}
	}
	if c.factor == nil {
		factor, err := c.source.factor(c.released)
		if err != nil {
			return spent, err
		}
		c.factor = factor
	}
	p.Family.ProjectLikelihood(dst, c.factor, p.Mean)
	return spent, nil
}

// State implements [Solver]. It returns the released statistics, because a second release would
// cost privacy again.
func (c *ClippedAnalytical) State() []byte {
	if c.released == nil {
		return nil
	}
	state, err := json.Marshal(c.released)
	if err != nil {
		panic("solver: " + err.Error()) // unreachable: integers always marshal
	}
	return state
}

// Restore implements [Solver].
func (c *ClippedAnalytical) Restore(state []byte) error {
	if len(state) == 0 {
		c.released, c.factor = nil, nil
		return nil
	}
	var released []int64
	if err := json.Unmarshal(state, &released); err != nil {
		return fmt.Errorf("clipped analytical solver: restoring: %w", err)
	}
	if len(released) != c.source.model.StatisticsSize() {
		return fmt.Errorf("clipped analytical solver: restoring: %d statistics, want %d", len(released), c.source.model.StatisticsSize())
	}
	c.released, c.factor = released, nil
	return nil
}

// PublishedAnalytical adds new noise to the same statistics in every round, as Sharma (2019) does.
// Every round is charged, so T releases cost as much as one release with 1/√T of the noise. With
// damping, the factor is a weighted average over rounds, in which earlier noise gradually
// disappears.
type PublishedAnalytical struct {
	stateless
	source statisticsSource
}

// NewPublishedAnalytical returns the solver for a shard. The mechanism must be for vectors of
// m.StatisticsSize() elements.
func NewPublishedAnalytical(m *model.Linear, s *shard.Shard, mechanism *dpmech.GaussianSum) *PublishedAnalytical {
	return &PublishedAnalytical{source: newStatisticsSource(m, s, mechanism)}
}

// Propose implements [Solver]. Every call releases the statistics with new noise.
func (c *PublishedAnalytical) Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	once := ClippedAnalytical{source: c.source}
	return once.Propose(dst, p, src)
}

type statisticsSource struct {
	model     *model.Linear
	shard     *shard.Shard
	mechanism *dpmech.GaussianSum
	repair    func(d int, factor []float64) error
}

func newStatisticsSource(m *model.Linear, s *shard.Shard, mechanism *dpmech.GaussianSum) statisticsSource {
	return statisticsSource{m, s, mechanism, gaussian.RepairLikelihood}
}

func (s statisticsSource) release(src *dpmech.Stream) ([]int64, error) {
	released := make([]int64, s.model.StatisticsSize())
	exact := make([]int64, len(released)) // sum without noise, which must not leave this function
	record := make([]float64, len(released))
	err := s.mechanism.Release(released, exact, src, func(add func([]float64) error) error {
		for i := range s.shard.Len() {
			clear(record)
			if guard.Run(func() {
				x, y := s.shard.Record(i)
				s.model.AddStatistics(record, x, y)
			}) != nil {
				continue
			}
			if err := add(record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("releasing statistics: %w", err)
	}
	return released, nil
}

// factor converts a released sum in lattice steps to the natural parameters of the client's factor.
// Negative directions of its precision are set to zero ([gaussian.RepairLikelihood]).
func (s statisticsSource) factor(released []int64) ([]float64, error) {
	factor := make([]float64, len(released))
	for i, n := range released {
		factor[i] = s.mechanism.Lattice().Float(n)
	}
	if err := s.repair(s.model.Dim(), factor); err != nil {
		return nil, err
	}
	return factor, nil
}
