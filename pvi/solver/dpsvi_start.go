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

// Start is where [DPSVI] sets out if the model is conjugate: the client releases its
// records' clipped, noised statistics once, as [ClippedAnalytical] does, and its first
// visit begins at the q to which they lead. A nil Start releases nothing and leaves q
// where it is.
type Start struct {
	source statisticsSource
	sum    []int64 // noisy statistics in lattice steps; nil before the release
}

// NewStart returns the start of one shard. The mechanism must have been made for
// vectors of m.StatisticsSize() elements.
func NewStart(m *model.Linear, s *shard.Shard, mechanism *dpmech.GaussianSum) *Start {
	return &Start{source: newStatisticsSource(m, s, mechanism)}
}

func (s *Start) released() bool { return s != nil && s.sum != nil }

// release releases the statistics, the first time.
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

// place writes to mean and sd those of the diagonal q that is nearest, by KL(q‖·), to the
// cavity times what the statistics say of θ: a function of what was released.
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
		return fmt.Errorf("dp-svi: where the statistics lead: %w", err)
	}
	copy(mean, m)
	return nil
}

// check refuses statistics that cannot have been released, nil ones if some must have
// been.
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

// set takes up statistics that were released, nil if none were.
func (s *Start) set(sum []int64) {
	if s != nil {
		s.sum = sum
	}
}
