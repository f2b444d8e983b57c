package method

import (
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// A release is charged at most as much as the one before it, and as if it were the longest one. The
// first k charges therefore cover any k rounds.
func TestChargesCoverEveryRound(t *testing.T) {
	s := &Setting{Study: &study.Study{Privacy: study.Privacy{Adjacency: accountant.AddRemove}}, Clients: 2}
	var configs []dpmech.Config
	for i, clip := range []float64{.5, 1, .7, 1, .1} {
		configs = append(configs, dpmech.Config{Dim: 3 * (i + 1), Clip: clip, NoiseMultiplier: 2 / clip, Shares: 1, Terms: 5, Releases: 2})
	}
	sums, err := s.NewSums(configs, 60)
	if err != nil {
		t.Fatal(err)
	}
	last := 1.0
	for k := range configs {
		all, err := sums.Increment(1, accountant.AddRemove, k, k+1)
		if err != nil {
			t.Fatal(err)
		}
		e := all.(accountant.Composed)[0].(accountant.DiscreteGaussian)
		if cost := e.Sensitivity / e.Sigma; cost > last || e.Dim != 15 {
			t.Errorf("release %d costs %g for %d elements, the one before %g", k+1, cost, e.Dim, last)
		} else {
			last = cost
		}
	}
}
