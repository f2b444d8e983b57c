package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// The test tries every solver with several models and every privacy unit. If a study of version 2
// would not have honest intervals ([study.Study.Honest]), Parse must refuse it unless it says
// intervals = "none".
func TestEverySolverIsHonestOrRefused(t *testing.T) {
	models := []string{
		`{ family = "linear", outcome = "y", terms = ["x"], noise_sd = 0.5 }`,
		`{ family = "linear", outcome = "y", terms = ["x"], noise_sd = "learned" }`,
		`{ family = "robust", outcome = "y", terms = ["x"], noise_sd = 0.5 }`,
		`{ family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"] }`,
		`{ family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"], groups = ["1 | g"] }`,
		`{ family = "neural-network", outcome = "y", positive = ">= 0.5", terms = ["x"], hidden = 3 }`,
	}
	checked := 0
	for _, model := range models {
		for _, unit := range []study.Unit{study.Record, study.Client, study.None} {
			privacy := `{ unit = "` + string(unit) + `", epsilon = 1.0, delta = 1e-5 }`
			if unit == study.None {
				privacy = `{ unit = "none" }`
			}
			for _, solver := range []study.Solver{
				study.Conjugate, study.NaturalGradient, study.SVI, study.Laplace, study.ClippedAnalytical, study.DPSVI, study.DPSEP, study.Scoring,
			} {
				for _, parts := range []string{"", ", partitions = 50"} {
					st, err := study.Parse("t.toml", []byte(private), set("study.version=2", "model="+model, "privacy="+privacy, "federation.nominal_records=500",
						`inference={ rounds = 10, solver = "`+string(solver)+`"`+parts+` }`)...)
					if err != nil {
						continue // The study was refused, for this reason or for another one.
					}
					checked++
					if unit != study.None && solver != study.Scoring || st.Points() || !st.Honest() {
						t.Errorf("%s with the solver %s%s for the unit %s is accepted without intervals = \"none\"", model, solver, parts, unit)
					}
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d studies were accepted", checked)
	}
}

// Parse refuses a study of version 2 without honest intervals, unless it says intervals = "none".
// Version 1 does not have this key.
func TestIntervals(t *testing.T) {
	const (
		svi     = `inference={ rounds = 30, solver = "dp-svi" }`
		none    = `privacy={ unit = "none" }`
		network = `model={ family = "neural-network", outcome = "y", positive = ">= 0.5", terms = ["x"], hidden = 3 }`
		groups  = `model={ family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"], groups = ["1 | g"] }`
	)
	for _, c := range []struct {
		name    string
		with    []study.Override
		missing string // part of the error if the key is missing, or "" if there is no error
	}{
		{"scoring", set("study.version=2", "inference={}"), ""},
		{"one-step", set("study.version=2", svi, `inference.noise_aware="one-step"`), ""},
		{"without privacy", set("study.version=2", none), ""},
		{"dp-svi", set("study.version=2", svi), "or leave solver out"},
		{"no noise-aware posterior", set("study.version=2", svi, `inference.noise_aware="none"`), "leave out the privacy noise"},
		{"the closed form", set("study.version=2", svi, `inference.noise_aware="closed-form"`), "sds of the closed form are too small"},
		{"iterates", set("study.version=2", svi, `inference.noise_aware="iterates"`), "depend on the step size"},
		{"dp-sep", set("study.version=2", `inference.solver="dp-sep"`, "federation.nominal_records=50"), "or leave solver out"},
		{"groups", set("study.version=2", svi, groups), "point estimates alone"},
		{"changes of a client", set("study.version=2", `privacy.unit="client"`, `inference.solver="natural-gradient"`, "federation.nominal_records=50"), "or leave solver out"},
		{"parts", set("study.version=2", "inference.partitions=50", "federation.nominal_records=500"), "leave out the privacy noise"},
		{"a diagonal q without privacy", set("study.version=2", none, `inference.q="diagonal"`), `or q = "full"`},
		{"a network without privacy", set("study.version=2", none, network), "many modes"},
	} {
		st, err := study.Parse("t.toml", []byte(private), c.with...)
		switch {
		case c.missing == "" && (err != nil || !st.Honest() || st.Points()):
			t.Errorf("%s: %v", c.name, err)
		case c.missing != "" && (err == nil || !strings.Contains(err.Error(), "intervals: is missing") || !strings.Contains(err.Error(), c.missing)):
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.missing)
		}
		if c.name == "the closed form" || c.name == "iterates" || strings.Contains(c.name, "noise-aware") || c.name == "one-step" {
			expect(t, private, "remove one of the two", with(c.with, `inference.intervals="none"`)...)
			continue
		}
		st = parse(t, private, with(c.with, `inference.intervals="none"`)...)
		if !st.Points() || st.Inference.NoiseAware != study.NoNoiseAware || st.Doubt() != "" {
			t.Errorf("%s, point estimates alone: %q", c.name, st.Doubt())
		}
	}
	expect(t, private, `"some" is unknown`, set("study.version=2", `inference.intervals="some"`)...)
	expect(t, private, "version 2", set("study.version=1", `inference.intervals="none"`)...)
	for _, c := range []struct {
		name, doubt string
		with        []study.Override
	}{
		{"closed form", "the closed form are too small", set("study.version=1")},
		{"one-step", "", set("study.version=1", `inference.noise_aware="one-step"`)},
		{"changes", "leave out the privacy noise", set("study.version=1", `privacy.unit="client"`, "federation.nominal_records=50")},
		{"without privacy", "", set("study.version=1", none)},
	} {
		if st := parse(t, private, c.with...); (st.Doubt() == "") != (c.doubt == "") || !strings.Contains(st.Doubt(), c.doubt) {
			t.Errorf("version 1, %s: %q", c.name, st.Doubt())
		}
	}
}
