package sim

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// labelled returns n records. The given share of them has an outcome of 1.
func labelled(n int, share float64) *shard.Records {
	records := new(shard.Records)
	for i := range n {
		y := 0.0
		if float64(i) < share*float64(n) {
			y = 1
		}
		records.Append([]float64{float64(i), y})
	}
	return records
}

func partitionStudy(kind string, clients int, rho, kappa float64) *study.Study {
	return &study.Study{
		Name:    "partition",
		Columns: []study.Column{{Name: "id", Type: study.Numeric}, {Name: "y", Type: study.Numeric}},
		Model:   study.Model{Outcome: "y"},
		Simulation: study.Simulation{
			Clients:   clients,
			Partition: study.Partition{Kind: kind, SizeSkew: rho, LabelSkew: kappa, LabelThreshold: .5},
		},
	}
}

func TestPartitionDealsEveryRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"balanced", "by-size", "label-skew"}).Draw(t, "kind")
		clients := 2 * rapid.IntRange(1, 10).Draw(t, "pairs")
		n := rapid.IntRange(clients, 500).Draw(t, "records")
		st := partitionStudy(kind, clients, rapid.Float64Range(0, .99).Draw(t, "rho"), rapid.Float64Range(-4, 1).Draw(t, "kappa"))
		holders, err := deal(st, labelled(n, .7), rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			return // for this skew, the study has too few records with one of the labels
		}
		seen := make([]int, n)
		for _, h := range holders {
			for i := range h.Records.Len() {
				seen[int(h.Records.Row(i)[0])]++
			}
		}
		if slices.ContainsFunc(seen, func(times int) bool { return times != 1 }) || len(holders) != clients {
			t.Fatalf("records were dealt %v times to %d clients", seen, len(holders))
		}
	})
}

// The shares of labels come from the inference notes, section 1.5, for 39,073 records and 10
// clients.
func TestLabelSkew(t *testing.T) {
	const n, clients, majority = 39_073, 10, .7607
	for _, c := range []struct {
		rho, kappa float64
		small      int
		minority   float64 // share of the less frequent label
	}{
		{.75, .95, 976, .012},
		{.7, -3, 1172, .957},
	} {
		holders, err := deal(partitionStudy("label-skew", clients, c.rho, c.kappa), labelled(n, 1-majority), 1)
		if err != nil {
			t.Fatal(err)
		}
		for m, h := range holders[:clients/2] {
			var with float64
			for i := range h.Records.Len() {
				with += h.Records.Row(i)[1]
			}
			share := with / float64(h.Records.Len())
			if h.Records.Len() != c.small || share < c.minority-.002 || share > c.minority+.002 {
				t.Errorf("ρ = %g, κ = %g: small client %d has %d records with minority share %.3f, want %d with %.3f",
					c.rho, c.kappa, m, h.Records.Len(), share, c.small, c.minority)
			}
		}
		var sizes []int
		for _, h := range holders[clients/2:] {
			sizes = append(sizes, h.Records.Len())
		}
		if slices.Max(sizes)-slices.Min(sizes) > 1 {
			t.Errorf("large clients have %v records", sizes)
		}
	}
}

func TestPartitionErrors(t *testing.T) {
	for _, c := range []struct {
		st   *study.Study
		want string
	}{
		{partitionStudy("label-skew", 2, .1, -3), "there are"},
		{partitionStudy("by-size", 100, .99, 0), "would hold no record"},
	} {
		if _, err := deal(c.st, labelled(100, .3), 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
	one := partitionStudy("label-skew", 2, .5, 0)
	if _, err := deal(one, labelled(100, 0), 1); err == nil || !strings.Contains(err.Error(), "all records the same label") {
		t.Errorf("no record has the label: %v", err)
	}
}

func TestHistoryIsThinned(t *testing.T) {
	h := new(History)
	for i := range 100_000 {
		if h.Wants(i) {
			h.Add(Point{Outcome: i})
		}
	}
	if n := len(h.Points); n < historySize/4 || n >= historySize {
		t.Errorf("%d points are kept", n)
	}
	step := h.Points[1].Outcome
	for i, p := range h.Points {
		if p.Outcome != i*step {
			t.Fatalf("point %d is of outcome %d, want %d", i, p.Outcome, i*step)
		}
	}
}
