package study_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const scoringSource = `
[study]
version = 2
name = "practices"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
[model]
family = "linear"
outcome = "y"
terms = ["x"]
noise_sd = 0.5
[inference]
[privacy]
unit = "client"
epsilon = 1.0
delta = 1e-5
[federation]
nominal_records = 40
`

// In version 2 of the language, the default solver for the privacy unit client is Scoring, if
// Scoring can fit the model.
func TestScoringOfClients(t *testing.T) {
	for _, c := range []struct {
		name      string
		overrides []study.Override
		solver    study.Solver
		target    study.Target
		rounds    int
	}{
		{"default", nil, study.Scoring, study.Population, 10},
		{"pooled", []study.Override{{Key: "inference.target", Value: `"pooled"`}, {Key: "inference.rounds", Value: "16"}}, study.Scoring, study.Pooled, 16},
		{"version 1", []study.Override{{Key: "study.version", Value: "1"}, {Key: "inference.rounds", Value: "4"}}, study.Conjugate, "", 4},
		{"named in version 1", []study.Override{{Key: "study.version", Value: "1"}, {Key: "inference.solver", Value: `"scoring"`}}, study.Scoring, study.Population, 10},
		{"another solver", []study.Override{{Key: "inference.solver", Value: `"svi"`}, {Key: "inference.intervals", Value: `"none"`}, {Key: "inference.rounds", Value: "4"}}, study.SVI, "", 4},
		{"groups", []study.Override{{Key: "model.groups", Value: `["1 + x | g"]`}, {Key: "inference.intervals", Value: `"none"`}, {Key: "inference.rounds", Value: "4"}}, study.NaturalGradient, "", 4},
		{"neural network", []study.Override{{Key: "model", Value: `{ family = "neural-network", outcome = "y", terms = ["x"], hidden = 3 }`}, {Key: "inference.intervals", Value: `"none"`}, {Key: "inference.rounds", Value: "4"}, {Key: "privacy.clip", Value: "1.0"}}, study.SVI, "", 4},
	} {
		s, err := study.Parse("s.toml", []byte(scoringSource), c.overrides...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if in := s.Inference; in.Solver != c.solver || in.Target != c.target || in.Rounds != c.rounds {
			t.Errorf("%s: solver %q, target %q and %d rounds, want %q, %q and %d", c.name, in.Solver, in.Target, in.Rounds, c.solver, c.target, c.rounds)
		}
		if s.Privacy.Centred != (c.solver != study.Scoring) {
			t.Errorf("%s: centred coordinates are %v", c.name, s.Privacy.Centred)
		}
	}
}

func TestScoringOfClientsRefused(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"inference.damping", "0.5", "has no meaning with solver = \"scoring\""},
		{"inference.factors", `"exact"`, "clients have no factors"},
		{"inference.q", `"diagonal"`, "write q = \"full\""},
		{"inference.rounds", "2", "needs between 3 and 100 rounds, and 10 are best"},
		{"inference.target", `"everybody"`, "target"},
		{"inference.schedule", `"sequential"`, "synchronous"},
		{"privacy.clip", "1.0", "follow from released sums"},
		{"privacy.coordinates", `"raw"`, "follow from released sums"},
		{"federation.nominal_records", "", "write nominal_records = 100"},
		{"privacy", `{ unit = "record", epsilon = 1.0, delta = 1e-5 }`, ""},
	} {
		overrides := []study.Override{{Key: c.key, Value: c.value}}
		if c.key == "privacy" {
			overrides = append(overrides, study.Override{Key: "inference.target", Value: `"pooled"`})
			c.want = "is used only with solver"
		}
		_, err := study.Parse("s.toml", []byte(scoringSource), overrides...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: %v, want an error with %q", c.key, c.value, err, c.want)
		}
	}
}

// The solver Scoring fits effects of groups if the privacy unit is the record and there are not too
// many effects.
func TestScoringOfGroups(t *testing.T) {
	record := study.Override{Key: "privacy", Value: `{ unit = "record", epsilon = 1.0, delta = 1e-5 }`}
	groups := study.Override{Key: "model.groups", Value: `["1 + x | g"]`}
	s, err := study.Parse("s.toml", []byte(scoringSource), record, groups)
	if err != nil {
		t.Fatal(err)
	}
	if in := s.Inference; in.Solver != study.Scoring || in.Rounds != 13 || in.Q != "full" {
		t.Errorf("solver %q with %d rounds and a %s covariance", in.Solver, in.Rounds, in.Q)
	}
	spread := study.Override{Key: "prior.spread", Value: "0.25"}
	if s, err := study.Parse("s.toml", []byte(scoringSource), record, groups, spread); err != nil || s.Prior.Spread != 0.25 {
		t.Errorf("a spread of .25: %v", err)
	}
	if _, err := study.Parse("s.toml", []byte(scoringSource), record, spread); err == nil || !strings.Contains(err.Error(), "used only with groups") {
		t.Errorf("a spread without groups: %v", err)
	}
	levels := make([]string, 100)
	for i := range levels {
		levels[i] = fmt.Sprintf("%q", fmt.Sprint("l", i))
	}
	many := strings.Replace(scoringSource, `"a", "b", "c"`, strings.Join(levels, ", "), 1)
	want := `the effects of groups, of which there may be 200, and the model has 202: write solver = "dp-svi"`
	if _, err := study.Parse("s.toml", []byte(many), record, groups); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("200 effects and two coefficients: %v", err)
	}
}
