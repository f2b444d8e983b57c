package solver

import (
	"errors"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
)

// If Propose fails after a release, it returns the event of this release with the error.
// ClippedAnalytical keeps the statistics, so that its next call releases nothing.
func TestReleasesAreReportedWithErrors(t *testing.T) {
	l := newLine(t, 0)
	once := NewClippedAnalytical(l.linear, l.shard, l.mechanism(t, 1))
	always := NewPublishedAnalytical(l.linear, l.shard, l.mechanism(t, 1))
	broken := errors.New("no eigenvalues")
	fail := func(int, []float64) error { return broken }
	once.source.repair, always.source.repair = fail, fail

	src := seeded.Stream(1, "broken")
	problem := Problem{Family: gaussian.Full(2), Mean: make([]float64, 2), Cavity: make([]float64, 5)}
	propose := func(s Solver, want int) {
		t.Helper()
		events, err := s.Propose(make([]float64, 5), problem, src)
		if !errors.Is(err, broken) || len(events) != want {
			t.Errorf("%T: events %v, %v; want %d and an error", s, events, err, want)
		}
	}
	propose(always, 1)
	propose(always, 1)
	propose(once, 1)
	state := slices.Clone(once.State())
	propose(once, 0)
	if state == nil || !slices.Equal(once.State(), state) {
		t.Errorf("the state was %s, is %s", state, once.State())
	}
	once.source.repair = gaussian.RepairLikelihood
	if events, err := once.Propose(make([]float64, 5), problem, src); err != nil || len(events) != 0 {
		t.Errorf("after the failure: events %v, %v", events, err)
	}
}
