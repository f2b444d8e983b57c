package sim_test

import (
	"context"
	"math"
	"testing"

	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// Tables of a simulated federation have the records of all clients, up to the noise, whoever may
// open its messages and whatever unit it protects. The study costs what it may cost.
func TestTables(t *testing.T) {
	const text = `
[study]
version = 2
name = "tables"
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
[model]
family = "logistic"
outcome = "y"
positive = "yes"
terms = ["x", "g"]
[inference]
rounds = 4
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
[federation]
nominal_records = 2000
[describe]
by = "y"
[simulation]
clients = 3
synthetic.records_per_client = 2000
`
	for name, overrides := range map[string][]study.Override{
		"messages": nil,
		"sums":     {{Key: "federation.opens", Value: `"sums"`}, {Key: "federation.colluders", Value: "1"}},
		"replace":  {{Key: "privacy.adjacency", Value: `"replace-one"`}},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := study.Parse("tables.toml", []byte(text), overrides...)
			if err != nil {
				t.Fatal(err)
			}
			play, err := sim.NewPlay(st, sim.Options{Seed: 10001, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			r, err := play.Run(context.Background(), func(sim.Status) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
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
