package client_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// comparedStudy is a study in which held-out records are scored.
const comparedStudy = `
study = { version = 2, name = "compared" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x", "z"] }
inference = { rounds = 5 }
privacy = { unit = "record", noise_multiplier = 0.2, delta = 1e-5 }
federation = { nominal_records = 100, pace = 0 }
compare = { held_out = 0.4, share = 0.3 }
simulation = { clients = 3, synthetic = { records_per_client = 100 } }
[[column]]
name = "x"
type = "numeric"
bounds = [-3, 3]
[[column]]
name = "z"
type = "categorical"
levels = ["a", "b"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
`

// The study holds out 40 % of all records, so 120 are to be expected.
func TestHeldOutScoresOfDaemons(t *testing.T) {
	for name, overrides := range map[string][]study.Override{
		"messages": nil,
		"sums":     {{Key: "federation.opens", Value: `"sums"`}},
		"secure":   {{Key: "federation.opens", Value: `"sums"`}, {Key: "federation.aggregation", Value: `"secure"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "study.toml")
			st, err := study.Parse(file, []byte(comparedStudy), overrides...)
			check(t, err)
			check(t, os.WriteFile(file, st.Source, 0o600))
			o := sim.Options{StudyFile: file, Seed: federationSeed, Workers: 1}
			records := filepath.Join(t.TempDir(), "records")
			_, err = sim.Deal(st, o, records)
			check(t, err)
			p, err := sim.NewPlay(st, o)
			check(t, err)
			r, err := p.Run(t.Context(), func(sim.Status) error { return nil })
			check(t, err)
			if n := r.HeldOut.Records; n.High < 100 || n.Low > 140 || n.High-n.Low > 60 {
				t.Errorf("%v records are held out, want some 120 of 300", n)
			}
			n := newRealNetwork(t, st, records)
			for m, e := range n.play() {
				var result struct {
					Natural []float64        `json:"natural"`
					HeldOut *describe.Scored `json:"held_out"`
				}
				check(t, json.Unmarshal(e.Result, &result))
				if !slices.Equal(result.Natural, r.Natural) || result.HeldOut == nil || *result.HeldOut != *r.HeldOut {
					t.Errorf("%s found %+v, the simulator %+v", n.clients[m], result.HeldOut, r.HeldOut)
				}
			}
		})
	}
}
