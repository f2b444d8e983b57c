package solver

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

// Start sets the q before the first step of [DPSVI], if the model is conjugate. The client releases
// clipped, noisy sufficient statistics once, as [ClippedAnalytical] does, and q follows from them.
// A nil Start releases nothing.
type Start struct {
	source statisticsSource
	sum    []int64 // noisy statistics in lattice steps; nil before the release
}

// NewStart returns the Start for a shard. The mechanism must be for vectors of
// m.StatisticsSize() elements.
func NewStart(m *model.Linear, s *shard.Shard, mechanism *dpmech.GaussianSum) *Start {
	return &Start{source: newStatisticsSource(m, s, mechanism)}
}

func (s *Start) released() bool { return s != nil && s.sum != nil }

// release releases the noisy statistics once, and returns the event to charge. Later calls, and
// calls with a nil s, do nothing.
func (s *Start) release(src *dpmech.Stream) ([]accountant.Event, error) {
	if s == nil || s.sum != nil {
		return nil, nil
	}
	var noise dpmech.Stream
	dpmech.Split(&noise, src)
	defer noise.Wipe()
	sum, err := s.source.release(&noise)
	if err != nil {
		return nil, err
	}
	s.sum = sum
	return []accountant.Event{s.source.mechanism.Event()}, nil
}

// place sets mean and sd to those of the diagonal q that minimises KL(q‖p), where p is proportional
// to the cavity times the factor from the released statistics. If s is nil, it changes nothing.
func (s *Start) place(mean, sd, cavity []float64) error {
	if s == nil {
		return nil
	}
	natural, err := s.source.factor(s.sum)
	if err != nil {
		return err
	}
	d := len(mean)
	for i := range d {
		at := gaussian.Packed(d, i, i)
		natural[i] += cavity[i]
		natural[at] += cavity[d+i]
		sd[i] = 1 / math.Sqrt(natural[at])
	}
	m, _, err := gaussian.Full(d).Moments(natural)
	if err != nil {
		return fmt.Errorf("dp-svi: start from the released statistics: %w", err)
	}
	copy(mean, m)
	return nil
}

// check returns an error if the saved statistics have the wrong length. If s is nil, there must be
// none.
func (s *Start) check(sum []int64) error {
	want := 0
	if s != nil {
		want = s.source.model.StatisticsSize()
	}
	if len(sum) != want {
		return fmt.Errorf("%d statistics to start from, want %d", len(sum), want)
	}
	return nil
}

func (s *Start) set(sum []int64) {
	if s != nil {
		s.sum = sum
	}
}
