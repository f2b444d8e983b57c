package shard_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Values outside the bounds that a standardisation found are counted by Beyond, and moved to the
// nearest bound by Design.
func TestBeyond(t *testing.T) {
	const source = `
study = { version = 1, name = "beyond" }
model = { family = "linear", outcome = "y", terms = ["x"], standardise = "private", noise_sd = 1 }
inference = { rounds = 1 }
privacy = { unit = "none" }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 100]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 100]
`
	st := parsed(t, source)
	st, err := st.WithScale([]study.Bounds{{Low: 10, High: 20}, {Low: 0, High: 100}})
	check(t, err)
	records := new(shard.Records)
	var want []float64
	for _, x := range [][2]float64{{9, -1}, {10, -1}, {15, 0}, {20, 1}, {21, 1}, {100, 1}} {
		records.Append([]float64{x[0], 50})
		want = append(want, x[1])
	}
	counts := map[string]int{}
	shard.Beyond(counts, st, records)
	if diff := cmp.Diff(map[string]int{"x": 3}, counts); diff != "" {
		t.Errorf("beyond (-want +got):\n%s", diff)
	}
	design := shard.Design(st, records)
	for i, x := range want {
		if row, y := design.Record(i); row[1] != x || y != 0 {
			t.Errorf("record %d has regressor %g and outcome %g, want %g and 0", i, row[1], y, x)
		}
	}
}
