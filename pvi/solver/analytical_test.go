package solver

import (
	"errors"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

// The test checks that a call to Propose that fails after a release returns the event of this
// release together with the error. ClippedAnalytical must keep the released statistics, so that its
// next call releases nothing.
func TestReleasesAreReportedWithErrors(t *testing.T) {
	m, err := model.NewLinear([]string{"a"}, []model.Normal{{SD: 1}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	g, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim: m.StatisticsSize(), Clip: 1, NoiseMultiplier: 1, Shares: 1, Terms: 10, Releases: 1, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		t.Fatal(err)
	}
	once := NewClippedAnalytical(m, new(shard.Shard), g)
	always := NewPublishedAnalytical(m, new(shard.Shard), g)
	broken := errors.New("no eigenvalues")
	fail := func(int, []float64) error { return broken }
	once.source.repair, always.source.repair = fail, fail

	src := seeded.Stream(1, "broken")
	problem := Problem{Family: gaussian.Full(1), Mean: make([]float64, 1), Cavity: make([]float64, 2)}
	propose := func(s Solver, want int) {
		t.Helper()
		events, err := s.Propose(make([]float64, 2), problem, src)
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
	if events, err := once.Propose(make([]float64, 2), problem, src); err != nil || len(events) != 0 {
		t.Errorf("after the failure: events %v, %v", events, err)
	}
}
