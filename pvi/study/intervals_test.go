package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

func with(version string, more ...string) []study.Override {
	all := []study.Override{{Key: "study.version", Value: version}}
	for i := 0; i < len(more); i += 2 {
		all = append(all, study.Override{Key: more[i], Value: more[i+1]})
	}
	return all
}

// The test parses studies of version 2 with every solver, for several models and for every privacy
// unit. Only some solvers have honest intervals ([study.Study.Honest]). With another solver Parse
// must refuse the study unless it has intervals = "none".
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
					set := with("2", "model", model, "privacy", privacy, "federation.nominal_records", "500",
						"inference", `{ rounds = 10, solver = "`+string(solver)+`"`+parts+` }`)
					st, err := study.Parse("t.toml", []byte(private), set...)
					if err != nil {
						continue // refused, for this or for another reason
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

// The test checks that Parse refuses a study of version 2 whose method has no honest intervals,
// unless the study has intervals = "none". In version 1 Parse must refuse this key.
func TestIntervals(t *testing.T) {
	const (
		svi     = `{ rounds = 30, solver = "dp-svi" }`
		none    = `{ unit = "none" }`
		network = `{ family = "neural-network", outcome = "y", positive = ">= 0.5", terms = ["x"], hidden = 3 }`
		groups  = `{ family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"], groups = ["1 | g"] }`
	)
	for _, c := range []struct {
		name    string
		with    []study.Override
		missing string // part of the error without the key; "" if the study has honest intervals
	}{
		{"scoring", with("2", "inference", "{}"), ""},
		{"one-step", with("2", "inference", svi, "inference.noise_aware", `"one-step"`), ""},
		{"without privacy", with("2", "privacy", none), ""},
		{"dp-svi", with("2", "inference", svi), "or leave solver out"},
		{"no noise-aware posterior", with("2", "inference", svi, "inference.noise_aware", `"none"`), "leave out the privacy noise"},
		{"the closed form", with("2", "inference", svi, "inference.noise_aware", `"closed-form"`), "sds of the closed form are too small"},
		{"iterates", with("2", "inference", svi, "inference.noise_aware", `"iterates"`), "depend on the step size"},
		{"dp-sep", with("2", "inference.solver", `"dp-sep"`, "federation.nominal_records", "50"), "or leave solver out"},
		{"groups", with("2", "inference", svi, "model", groups), "point estimates alone"},
		{"changes of a client", with("2", "privacy.unit", `"client"`, "inference.solver", `"natural-gradient"`, "federation.nominal_records", "50"), "or leave solver out"},
		{"parts", with("2", "inference.partitions", "50", "federation.nominal_records", "500"), "leave out the privacy noise"},
		{"a diagonal q without privacy", with("2", "privacy", none, "inference.q", `"diagonal"`), `or q = "full"`},
		{"a network without privacy", with("2", "privacy", none, "model", network), "many modes"},
	} {
		st, err := study.Parse("t.toml", []byte(private), c.with...)
		switch {
		case c.missing == "" && (err != nil || !st.Honest() || st.Points()):
			t.Errorf("%s: %v", c.name, err)
		case c.missing != "" && (err == nil || !strings.Contains(err.Error(), "intervals: is missing") || !strings.Contains(err.Error(), c.missing)):
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.missing)
		}
		if c.name == "the closed form" || c.name == "iterates" || strings.Contains(c.name, "noise-aware") || c.name == "one-step" {
			_, err := study.Parse("t.toml", []byte(private), append(c.with, study.Override{Key: "inference.intervals", Value: `"none"`})...)
			if err == nil || !strings.Contains(err.Error(), "remove one of the two") {
				t.Errorf("%s beside none: %v", c.name, err)
			}
			continue
		}
		st, err = study.Parse("t.toml", []byte(private), append(c.with, study.Override{Key: "inference.intervals", Value: `"none"`})...)
		if err != nil || !st.Points() || st.Inference.NoiseAware != study.NoNoiseAware || st.Doubt() != "" {
			t.Errorf("%s, point estimates alone: %v", c.name, err)
		}
	}
	if _, err := study.Parse("t.toml", []byte(private), with("2", "inference.intervals", `"some"`)...); err == nil {
		t.Error("another value is read")
	}
	if _, err := study.Parse("t.toml", []byte(private), with("1", "inference.intervals", `"none"`)...); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("in version 1: %v", err)
	}
	for _, c := range []struct {
		name, doubt string
		with        []study.Override
	}{
		{"closed form", "the closed form are too small", with("1")},
		{"one-step", "", with("1", "inference.noise_aware", `"one-step"`)},
		{"changes", "leave out the privacy noise", with("1", "privacy.unit", `"client"`, "federation.nominal_records", "50")},
		{"without privacy", "", with("1", "privacy", none)},
	} {
		st, err := study.Parse("t.toml", []byte(private), c.with...)
		if err != nil || (st.Doubt() == "") != (c.doubt == "") || !strings.Contains(st.Doubt(), c.doubt) {
			t.Errorf("version 1, %s: %v", c.name, err)
		}
	}
}
