package cuda

import "testing"

// The test checks whether rounds of several sizes are given to a GPU or to the CPU. For the Adult
// data, a GPU was measured to take ten times as long as 16 cores.
func TestWorkIsWhereItIsFaster(t *testing.T) {
	many := Work{Visits: 256, Rounds: 20, Steps: 1000, Records: 10_000, Batch: 200, Dim: 14}
	few, short, one := many, many, many
	few.Visits, short.Steps, one.Visits = 10, 2, 1
	large := Work{Visits: 1, Rounds: 1, Steps: 2000, Records: 100_000, Batch: 50_000, Dim: 100}
	forty := large
	forty.Visits = 40
	for name, c := range map[string]struct {
		work   Work
		cores  int
		device bool
	}{
		"Adult, ten clients":        {Work{Visits: 10, Rounds: 50, Steps: 4, Records: 3907, Batch: 3907, Dim: 109}, 16, false},
		"many visits":               {many, 16, true},
		"few visits":                {few, 16, false},
		"one visit":                 {one, 16, false},
		"one visit of all records":  {large, 16, false},
		"many visits, more cores":   {many, 256, false},
		"few visits, one core":      {few, 1, true},
		"few steps":                 {short, 16, false},
		"forty visits of many rows": {forty, 16, true},
		"no records":                {Work{Visits: 5, Rounds: 1, Steps: 10, Dim: 3}, 4, false},
		"no steps":                  {Work{Visits: 5, Rounds: 1, Records: 10, Dim: 3}, 4, false},
	} {
		if got := c.work.Faster(c.cores); got != c.device {
			t.Errorf("%s: on a device: %v", name, got)
		}
	}
}
