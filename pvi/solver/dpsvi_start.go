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

// Start sets the q at which the first call of [DPSVI.Propose] begins, if the model is conjugate.
// The client releases the clipped, noisy sufficient statistics of its records once, as
// [ClippedAnalytical] does, and the first call begins at the q that follows from them. With a nil
// Start, nothing is released, and the first call begins at the q of the plan.
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

// release releases the noisy statistics the first time that it is called, and returns the event to
// charge. Later calls do nothing and return no events. If s is nil, release does nothing.
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

// place sets mean and sd to those of the q at which the first call to Propose begins. This is the
// diagonal q that minimises KL(q‖p), where p is proportional to the cavity times the factor that
// follows from the released statistics. If s is nil, place changes nothing.
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

// check returns an error if sum, the saved statistics, has the wrong length. If s is nil, sum must
// be empty.
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
