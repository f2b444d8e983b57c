package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

func TestDescribeIsRefused(t *testing.T) {
	tables := with(measured, `describe={ by = "g" }`)
	if d := parse(t, private, tables...).Describe; len(d.Columns) != 2 || d.Bins != 10 || d.Share != .1 {
		t.Errorf("the tables are %+v", d)
	}
	for says, setting := range map[string]string{
		"numeric":        `describe.by="x"`,
		"not declared":   `describe.columns=["z"]`,
		"is in by":       `describe.columns=["g"]`,
		"at least 2":     "describe.bins=1",
		"at most 0.9":    "describe.share=0.95",
		"a whole client": `privacy.unit="client"`,
		"solver of this": `inference.solver="clipped-analytical"`,
		"unknown":        "describe.levels=3",
	} {
		expect(t, private, says, with(tables, setting, "inference.rounds=4")...)
	}
}

// A study with [describe] but without [model] has one round and spends its whole budget on the
// tables. Keys that need a model are refused.
func TestStudyWithoutModel(t *testing.T) {
	alone := set("study.version=2", "model=", "inference=", "describe={ bins = 5 }", `simulation={ clients = 3, data = ["records.csv"] }`)
	if st := parse(t, private, alone...); !st.Model.Absent() || st.Inference.Rounds != 1 || st.Describe.Share != 1 || !st.Honest() {
		t.Errorf("%+v", st)
	}
	for says, setting := range map[string]string{
		"spends its whole budget":     "describe.share=0.5",
		"inference: has no meaning":   "inference.rounds=4",
		"prior: has no meaning":       "prior.sd=2",
		"standardise: has no meaning": "standardise.rounds=2",
		"the clip of the tables":      "privacy.clip=2",
		"a whole client":              `privacy.unit="client"`,
		"the study has none":          `privacy.unit="none"`,
		"version 2":                   "study.version=1",
		"test: has no meaning":        "simulation.test=0.2",
		"drawn from a model":          "simulation.synthetic.records_per_client=5",
	} {
		if _, err := study.Parse("t.toml", []byte(private), with(alone, setting)...); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: %v, want %q", setting, err, says)
		}
	}
}
