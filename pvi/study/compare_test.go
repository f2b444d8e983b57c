package study_test

import (
	"math"
	"testing"
)

// measured turns the study private into a regression of version 2. compared also asks for a score
// of held-out records.
var measured = set("study.version=2", `model={ family = "linear", outcome = "y", terms = ["g"], noise_sd = 1.0 }`, "inference={}", "federation.nominal_records=100")

var compared = with(measured, "compare={}")

// The table [compare] adds a round. The default range of log predictive densities depends on the
// bounds or levels of the outcome.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		settings  []string
		low, high float64
		outcome   string
	}{
		{nil, -math.Log(2) - 4, -math.Log(2) + 3, "y, 0 to 9 mapped to -1 to 1"},
		{[]string{`model.standardise="none"`}, -math.Log(9) - 4, -math.Log(9) + 3, "y, 0 to 9 mapped to 0 to 9"},
		{[]string{"compare.clip=[-6, 1]"}, -6, 1, "y, 0 to 9 mapped to -1 to 1"},
		{[]string{`model.family="poisson"`, "model.noise_sd="}, -math.Log(10) - 4, 0, "y, a count up to 9"},
	} {
		st := parse(t, private, with(compared, c.settings...)...)
		if got := st.Compare; got.HeldOut != .1 || got.Share != .1 || math.Abs(got.Low-c.low) > 1e-12 || math.Abs(got.High-c.high) > 1e-12 ||
			st.OutcomeScale() != c.outcome || st.Inference.Rounds != 14 {
			t.Errorf("%v: %+v, %q, %d rounds; want %+v", c.settings, got, st.OutcomeScale(), st.Inference.Rounds, c)
		}
	}
}

func TestCompareIsRefused(t *testing.T) {
	for _, c := range []struct {
		says     string
		settings []string
	}{
		{"at most 0.5", []string{"compare.held_out=0.7"}},
		{"positive", []string{"compare.held_out=0.0"}},
		{"at most 0.9", []string{"compare.share=0.95"}},
		{"positive", []string{"compare.share=-0.1"}},
		{"the lower and the upper limit", []string{"compare.clip=[1, -6]"}},
		{"the lower and the upper limit", []string{"compare.clip=[-6]"}},
		{"the lower and the upper limit", []string{"compare.clip=[-6, 1e9]"}},
		{"at least 0.01 apart", []string{"compare.clip=[0, 5e-324]"}},
		{"at least 0.01 apart", []string{"compare.clip=[-6, -5.999999]"}},
		{"hides the sum", []string{`privacy.unit="client"`}},
		{"that no study has read", []string{`privacy.unit="none"`}},
		{"solver of this study", []string{`inference.solver="clipped-analytical"`}},
		{"from all records", []string{`model.standardise="private"`}},
		{"4 rounds before it", []string{"inference.rounds=4"}},
		{"unknown", []string{"compare.folds=3"}},
		{"version 2", []string{"study.version=1"}},
		{"with describe.share", []string{"describe.share=0.5", "compare.share=0.5"}},
		{"clip = [-6, 0]", []string{`model={ formula = "y ~ g", family = "gaussian" }`}},
		{"write [model]", []string{"model=", "describe={}"}},
	} {
		expect(t, private, c.says, with(compared, c.settings...)...)
	}
}
