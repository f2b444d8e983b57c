package study_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// practices turns the study private into one of version 2 that protects clients.
var practices = set("study.version=2", `model={ family = "linear", outcome = "y", terms = ["x"], noise_sd = 0.5 }`, "inference={}", `privacy.unit="client"`, "federation.nominal_records=40")

// In version 2, Scoring is the default solver for the privacy unit client if it can fit the model.
func TestScoringOfClients(t *testing.T) {
	for _, c := range []struct {
		settings []string
		solver   study.Solver
		target   study.Target
		rounds   int
	}{
		{nil, study.Scoring, study.Population, 10},
		{[]string{`inference.target="pooled"`, "inference.rounds=16"}, study.Scoring, study.Pooled, 16},
		{[]string{"study.version=1", "inference.rounds=4"}, study.Conjugate, "", 4},
		{[]string{"study.version=1", `inference.solver="scoring"`}, study.Scoring, study.Population, 10},
		{[]string{`inference={ solver = "svi", intervals = "none", rounds = 4 }`}, study.SVI, "", 4},
		{[]string{`model.groups=["1 + x | g"]`, `inference={ intervals = "none", rounds = 4 }`}, study.NaturalGradient, "", 4},
		{[]string{`model={ family = "neural-network", outcome = "y", terms = ["x"], hidden = 3 }`, `inference={ intervals = "none", rounds = 4 }`, "privacy.clip=1.0"}, study.SVI, "", 4},
	} {
		s := parse(t, private, with(practices, c.settings...)...)
		if in := s.Inference; in.Solver != c.solver || in.Target != c.target || in.Rounds != c.rounds {
			t.Errorf("%s: solver %q, target %q and %d rounds, want %q, %q and %d", c.settings, in.Solver, in.Target, in.Rounds, c.solver, c.target, c.rounds)
		}
		if s.Privacy.Centred != (c.solver != study.Scoring) {
			t.Errorf("%s: centred coordinates are %v", c.settings, s.Privacy.Centred)
		}
	}
}

func TestScoringOfClientsRefused(t *testing.T) {
	for setting, want := range map[string]string{
		"inference.damping=0.5":           "has no meaning with solver = \"scoring\"",
		`inference.factors="exact"`:       "clients have no factors",
		`inference.q="diagonal"`:          "write q = \"full\"",
		"inference.rounds=2":              "needs between 3 and 100 rounds, and 10 are best",
		`inference.target="everybody"`:    "target",
		`inference.schedule="sequential"`: "synchronous",
		"privacy.clip=1.0":                "follow from released sums",
		`privacy.coordinates="raw"`:       "follow from released sums",
		"federation.nominal_records=":     "write nominal_records = 100",
	} {
		expect(t, private, want, with(practices, setting)...)
	}
	expect(t, private, "is used only with solver", with(practices, `privacy.unit="record"`, `inference.target="pooled"`)...)
}

// If the privacy unit is the record, Scoring can fit a limited number of group effects.
func TestScoringOfGroups(t *testing.T) {
	record := with(practices, `privacy.unit="record"`)
	groups := with(record, `model.groups=["1 + x | g"]`)
	if in := parse(t, private, groups...).Inference; in.Solver != study.Scoring || in.Rounds != 13 || in.Q != "full" {
		t.Errorf("solver %q with %d rounds and a %s covariance", in.Solver, in.Rounds, in.Q)
	}
	if s := parse(t, private, with(groups, "prior.spread=0.25")...); s.Prior.Spread != 0.25 {
		t.Errorf("a spread of .25 is read as %g", s.Prior.Spread)
	}
	expect(t, private, "used only with groups", with(record, "prior.spread=0.25")...)
	levels := make([]string, 100)
	for i := range levels {
		levels[i] = fmt.Sprintf("%q", fmt.Sprint("l", i))
	}
	many := edit(private, `"a", "b"`, strings.Join(levels, ", "))
	expect(t, many, `the effects of groups, of which there may be 200, and the model has 202: write solver = "dp-svi"`, groups...)
}
