package sweep

import (
	"math"
	"testing"
)

func TestSpreadOfAShare(t *testing.T) {
	spread := func(metric string, values ...float64) [3]float64 {
		low, mid, top := Plot{Y: metric}.spread(values)
		return [3]float64{low, mid, top}
	}
	got := spread("coverage", 1, 0.8, 0.6, 0.8, 1, 0.6, 0.8, 0.8)
	// The eight values have variance 0.16/7. reach is half the width of the 95 % interval for their
	// mean.
	reach := 1.959963984540054 * math.Sqrt(0.16/7/8)
	for i, want := range []float64{0.8 - reach, 0.8, 0.8 + reach} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("place %d is %g, want %g", i, got[i], want)
		}
	}
	if one := spread("noise_aware_coverage", 0.4); one[0] != 0.4 || one[2] != 0.4 {
		t.Errorf("of one value: %v", one)
	}
	if deciles := spread("kl", 0, 10); deciles[0] != 1 || deciles[1] != 5 || deciles[2] != 9 {
		t.Errorf("of another metric: %v", deciles)
	}
}

func TestCoverageIsShownWhereItIsPlotted(t *testing.T) {
	r := &Results{spec: &Spec{Plots: []Plot{{Y: "kl"}, {Y: "noise_aware_coverage"}}}}
	columns := r.shownByPlots()
	if len(columns) != 1 || columns[0].head != "noise aware coverage" {
		t.Fatalf("%d columns", len(columns))
	}
	if got := columns[0].text(map[string]float64{"noise_aware_coverage": 0.9, "noise_aware_coverage_se": 0.01}); got != "0.9000 ± 0.0100" {
		t.Errorf("shown as %q", got)
	}
}
