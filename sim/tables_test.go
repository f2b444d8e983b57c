package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/study"
)

// The tables of a simulated federation must describe the records of all clients, up to the noise,
// and must not cost more than the study's ε. The cases differ in the messages that are opened, and
// in the adjacency.
func TestTables(t *testing.T) {
	const text = `
column = [
  { name = "x", type = "numeric", bounds = [0, 10] },
  { name = "g", type = "categorical", levels = ["a", "b", "c"] },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
study = { version = 2, name = "tables" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x", "g"] }
inference = { rounds = 4 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 2000 }
describe = { by = "y" }
simulation = { clients = 3, synthetic.records_per_client = 2000 }
`
	for name, overrides := range map[string][]study.Override{
		"messages": nil,
		"sums":     {{Key: "federation.opens", Value: `"sums"`}, {Key: "federation.colluders", Value: "1"}},
		"replace":  {{Key: "privacy.adjacency", Value: `"replace-one"`}},
	} {
		t.Run(name, func(t *testing.T) {
			st := parse(t, "tables.toml", text, overrides...)
			play := prepare(t, st, Options{Seed: 10001, Workers: 1})
			r := run(t, play)
			s := r.Tables
			if s == nil || s.Clients != 3 {
				t.Fatal("the result has no tables of three clients")
			}
			all := s.Groups[0].Records
			if sd := (all.High - all.Low) / 2 / 1.96; math.Abs(all.Estimate-6000) > 5*sd || !(sd < 600) {
				t.Errorf("%v records, want 6000", all)
			}
			if mean := s.Columns[0].Parts[0].Mean; mean.Estimate < 4 || mean.Estimate > 6 {
				t.Errorf("the mean of x is %v, want 5", *mean)
			}
			if e := r.Privacy.Promise.Epsilon; e > 1.0001 {
				t.Errorf("the study costs ε = %g, more than 1", e)
			}
		})
	}
}

// A study without a model spends its whole budget on tables in one round. Over the seeds, the 95 %
// intervals must contain the numbers computed from the records often enough.
func TestTablesAlone(t *testing.T) {
	const text = `
study = { version = 2, name = "alone" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 200 }
describe = { bins = 4 }
simulation = { clients = 3, data = ["records.csv"] }
column = [
  { name = "x", type = "numeric", bounds = [0, 10] },
  { name = "g", type = "categorical", levels = ["a", "b", "c"] },
]
`
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(10003, 1))
	var file strings.Builder
	file.WriteString("x,g\n")
	const records = 600
	var sum, squares, ofB float64
	for range records {
		x, g := 10*r.Float64()*r.Float64(), r.IntN(3)
		sum, squares = sum+x, squares+x*x
		if g == 1 {
			ofB++
		}
		fmt.Fprintf(&file, "%v,%c\n", x, 'a'+g)
	}
	writeFile(t, "records.csv", file.String())
	st := parse(t, "alone.toml", text)
	const seeds = 25
	mean := sum / records
	sd := math.Sqrt(squares/records - mean*mean)
	held, of := 0, 0
	for seed := range uint64(seeds) {
		play := prepare(t, st, Options{StudyFile: "alone.toml", Seed: 10001 + seed, Workers: 1})
		result := run(t, play)
		if e := result.Privacy.Promise.Epsilon; e > 1.0001 || e < .99 || result.Privacy.Releases != 1 {
			t.Fatalf("the study costs ε = %g in %d releases, want 1 in 1", e, result.Privacy.Releases)
		}
		s := result.Tables
		for _, one := range []struct {
			truth float64
			of    describe.Value
		}{
			{records, s.Groups[0].Records},
			{mean, *s.Columns[0].Parts[0].Mean},
			{sd, *s.Columns[0].Parts[0].SD},
			{ofB, s.Columns[1].Parts[0].Counts[1]},
			{ofB / records, s.Columns[1].Parts[0].Shares[1]},
		} {
			if of++; one.of.Low <= one.truth && one.truth <= one.of.High {
				held++
			}
		}
	}
	if share := float64(held) / float64(of); share < .9 || share > .99 {
		t.Errorf("95 %% intervals hold %.3f of %d numbers", share, of)
	}
}
