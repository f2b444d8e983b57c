package sim

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/tables"
	"fedpvi/pvi/study"
)

// adultRows reads the Adult data set independently of package shard. A row maps column names to
// fields.
func adultRows(t *testing.T, path string, files []string) (rows []map[string]string) {
	t.Helper()
	for _, name := range files {
		found, err := FindData(path, name)
		if err != nil {
			t.Skip(err)
		}
		f, err := os.Open(found)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, fields := range all[1:] {
			row := map[string]string{}
			for i, field := range fields {
				row[strings.TrimSpace(all[0][i])] = strings.TrimSpace(field)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// An adultTruth is a number computed from the records. get extracts its estimate from the tables.
type adultTruth struct {
	of  float64
	get func(*describe.Summary) describe.Value
}

// adultTruths returns the counts, shares, means and sds of all records, and of the records with
// each level of target.
func adultTruths(t *testing.T, rows []map[string]string, st *study.Study) (all []adultTruth) {
	t.Helper()
	groups := append([]string{""}, st.Columns[st.Describe.By].Levels...)
	for g, level := range groups {
		own := slices.DeleteFunc(slices.Clone(rows), func(r map[string]string) bool { return level != "" && r["target"] != level })
		n := float64(len(own))
		all = append(all, adultTruth{n, func(s *describe.Summary) describe.Value { return s.Groups[g].Records }})
		for k, i := range st.Describe.Columns {
			c := &st.Columns[i]
			counts := map[int]float64{}
			var sum, squares float64
			for _, r := range own {
				if c.Type != study.Numeric {
					counts[slices.Index(c.Levels, r[c.Name])]++
					continue
				}
				x, err := strconv.ParseFloat(r[c.Name], 64)
				if err != nil {
					t.Fatal(err)
				}
				sum, squares = sum+x, squares+x*x
				edges := c.Edges(st.Describe.Bins)
				b := 0
				for b < st.Describe.Bins-1 && x >= edges[b+1] {
					b++
				}
				counts[b]++
			}
			cells := max(len(c.Levels), 0)
			if c.Type == study.Numeric {
				cells = st.Describe.Bins
				mean := sum / n
				all = append(all,
					adultTruth{mean, func(s *describe.Summary) describe.Value { return *s.Columns[k].Parts[g].Mean }},
					adultTruth{math.Sqrt(squares/n - mean*mean), func(s *describe.Summary) describe.Value { return *s.Columns[k].Parts[g].SD }})
			}
			for cell := range cells {
				all = append(all,
					adultTruth{counts[cell], func(s *describe.Summary) describe.Value { return s.Columns[k].Parts[g].Counts[cell] }},
					adultTruth{counts[cell] / n, func(s *describe.Summary) describe.Value { return s.Columns[k].Parts[g].Shares[cell] }})
			}
		}
	}
	return all
}

// Over 100 seeds, between 87 and 94 % of the 90 % intervals in the tables of Adult must contain the
// numbers computed from the records. ε is .1, and there are ten clients.
func TestTablesOfAdult(t *testing.T) {
	if !long() {
		t.Skip("a long test: set FEDPVI_LONG")
	}
	st, path := experiment(t, "adult/described.toml")
	play := newPlay(t, st, path, 1)
	m := play.Federation.Protocol.Method().(*tables.Method)
	layout := describe.New(st)
	truths := adultTruths(t, adultRows(t, path, st.Simulation.Data), st)
	const seeds = 100
	held := 0
	for seed := range uint64(seeds) {
		sums := make([]float64, layout.Size())
		for k, s := range play.Federation.Shards {
			c, err := m.NewClient(s)
			if err != nil {
				t.Fatal(err)
			}
			dst := make([]int64, len(sums))
			if _, err := c.Release(dst, &method.Task{Number: 1}, seeded.Stream(10001+seed, "noise", uint64(k))); err != nil {
				t.Fatal(err)
			}
			for i, x := range dst {
				sums[i] += m.Messages().Lattice.Step() * float64(x)
			}
		}
		summary := layout.Summary(sums, m.TablesSD(), len(play.Federation.Shards), .9)
		for _, one := range truths {
			if v := one.get(summary); v.Low-1e-9 <= one.of && one.of <= v.High+1e-9 {
				held++
			}
		}
	}
	share := float64(held) / float64(seeds*len(truths))
	t.Logf("90 %% intervals hold %.4f of %d numbers", share, seeds*len(truths))
	if share < .87 || share > .94 {
		t.Errorf("90 %% intervals hold %.4f", share)
	}
}
