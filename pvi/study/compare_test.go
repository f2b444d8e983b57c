package study_test

import (
	"math"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const compareStudy = `
[study]
version = 2
name = "scored"
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b"]
[model]
family = "linear"
outcome = "x"
terms = ["g"]
noise_sd = 1.0
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
[federation]
nominal_records = 100
[compare]
[simulation]
clients = 3
synthetic.records_per_client = 100
`

// The test checks that the table [compare] adds a round to the study, and that the default range of
// log predictive densities follows from the bounds or levels of the outcome.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		overrides []study.Override
		low, high float64
		outcome   string
	}{
		{nil, -math.Log(2) - 4, -math.Log(2) + 3, "x, 0 to 10 mapped to -1 to 1"},
		{[]study.Override{{Key: "model.standardise", Value: `"none"`}}, -math.Log(10) - 4, -math.Log(10) + 3, "x, 0 to 10 mapped to 0 to 10"},
		{[]study.Override{{Key: "compare.clip", Value: "[-6, 1]"}}, -6, 1, "x, 0 to 10 mapped to -1 to 1"},
		{[]study.Override{{Key: "model.family", Value: `"poisson"`}, {Key: "model.noise_sd", Value: ""}}, -math.Log(11) - 4, 0, "x, a count up to 10"},
	} {
		st, err := study.Parse("s.toml", []byte(compareStudy), c.overrides...)
		if err != nil {
			t.Errorf("%v: %v", c.overrides, err)
			continue
		}
		if got := st.Compare; got.HeldOut != .1 || got.Share != .1 || math.Abs(got.Low-c.low) > 1e-12 || math.Abs(got.High-c.high) > 1e-12 ||
			st.OutcomeScale() != c.outcome || st.Inference.Rounds != 14 {
			t.Errorf("%v: %+v, %q, %d rounds; want %+v", c.overrides, got, st.OutcomeScale(), st.Inference.Rounds, c)
		}
	}
}

func TestCompareIsRefused(t *testing.T) {
	for _, c := range []struct {
		says, key, value string
	}{
		{"at most 0.5", "compare.held_out", "0.7"},
		{"positive", "compare.held_out", "0.0"},
		{"at most 0.9", "compare.share", "0.95"},
		{"positive", "compare.share", "-0.1"},
		{"the lower and the upper limit", "compare.clip", "[1, -6]"},
		{"the lower and the upper limit", "compare.clip", "[-6]"},
		{"the lower and the upper limit", "compare.clip", "[-6, 1e9]"},
		{"at least 0.01 apart", "compare.clip", "[0, 5e-324]"},
		{"at least 0.01 apart", "compare.clip", "[-6, -5.999999]"},
		{"hides the sum", "privacy.unit", `"client"`},
		{"that no study has read", "privacy.unit", `"none"`},
		{"solver of this study", "inference.solver", `"clipped-analytical"`},
		{"from all records", "model.standardise", `"private"`},
		{"4 rounds before it", "inference.rounds", "4"},
		{"unknown", "compare.folds", "3"},
		{"version 2", "study.version", "1"},
	} {
		if _, err := study.Parse("s.toml", []byte(compareStudy), study.Override{Key: c.key, Value: c.value}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s = %s: %v, want %q", c.key, c.value, err, c.says)
		}
	}
	for says, o := range map[string][]study.Override{
		"with describe.share": {{Key: "describe.share", Value: "0.5"}, {Key: "compare.share", Value: "0.5"}},
		"clip = [-6, 0]":      {{Key: "model.formula", Value: `"x ~ g"`}, {Key: "model.family", Value: `"gaussian"`}, {Key: "model.outcome", Value: ""}, {Key: "model.terms", Value: ""}, {Key: "model.noise_sd", Value: ""}},
	} {
		if _, err := study.Parse("s.toml", []byte(compareStudy), o...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", o, err, says)
		}
	}
	_, without, _ := strings.Cut(compareStudy, "noise_sd = 1.0\n")
	before, _, _ := strings.Cut(compareStudy, "[model]")
	if _, err := study.Parse("s.toml", []byte(before+"[describe]\n"+without)); err == nil || !strings.Contains(err.Error(), "write [model]") {
		t.Errorf("without a model: %v", err)
	}
}
