package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

func TestDescribeIsRefused(t *testing.T) {
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
[describe]
by = "g"
[simulation]
clients = 3
synthetic.records_per_client = 100
`
	if st, err := study.Parse("s.toml", []byte(text)); err != nil || len(st.Describe.Columns) != 1 || st.Describe.Bins != 10 || st.Describe.Share != .1 {
		t.Fatal(err)
	}
	for says, o := range map[string]study.Override{
		"numeric":        {Key: "describe.by", Value: `"x"`},
		"not declared":   {Key: "describe.columns", Value: `["z"]`},
		"is in by":       {Key: "describe.columns", Value: `["g"]`},
		"at least 2":     {Key: "describe.bins", Value: `1`},
		"at most 0.9":    {Key: "describe.share", Value: `0.95`},
		"a whole client": {Key: "privacy.unit", Value: `"client"`},
		"solver of this": {Key: "inference.solver", Value: `"clipped-analytical"`},
		"unknown":        {Key: "describe.levels", Value: `3`},
	} {
		if _, err := study.Parse("s.toml", []byte(text), o, study.Override{Key: "inference.rounds", Value: "4"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s = %s: %v, want %q", o.Key, o.Value, err, says)
		}
	}
}

// The test checks that a study with [describe] and no [model] has one round and spends its whole
// budget on the tables. Parse must refuse keys that have a meaning only with a model.
func TestStudyWithoutModel(t *testing.T) {
	const text = `
study = { version = 2, name = "alone" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
describe = { bins = 5 }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[simulation]
clients = 3
data = ["records.csv"]
`
	st, err := study.Parse("s.toml", []byte(text))
	if err != nil || !st.Model.Absent() || st.Inference.Rounds != 1 || st.Describe.Share != 1 || !st.Honest() {
		t.Fatalf("%+v: %v", st, err)
	}
	for says, o := range map[string]study.Override{
		"spends its whole budget":     {Key: "describe.share", Value: `0.5`},
		"inference: has no meaning":   {Key: "inference.rounds", Value: `4`},
		"prior: has no meaning":       {Key: "prior.sd", Value: `2`},
		"standardise: has no meaning": {Key: "standardise.rounds", Value: `2`},
		"the clip of the tables":      {Key: "privacy.clip", Value: `2`},
		"a whole client":              {Key: "privacy.unit", Value: `"client"`},
		"the study has none":          {Key: "privacy.unit", Value: `"none"`},
		"version 2":                   {Key: "study.version", Value: `1`},
		"test: has no meaning":        {Key: "simulation.test", Value: `0.2`},
		"drawn from a model":          {Key: "simulation.synthetic.records_per_client", Value: `5`},
	} {
		if _, err := study.Parse("s.toml", []byte(text), o); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s = %s: %v, want %q", o.Key, o.Value, err, says)
		}
	}
}
