package study_test

import (
	"testing"

	"fedpvi/pvi/study"
)

const formulaStudy = wards + `
model = { formula = "falls ~ age + dose + ward", family = "poisson" }
prior = { b = "normal(0, 1)" }
`

// The program of a formula reads two kinds of numbers of a record: values of columns, after the
// columns' transforms, and indicators of levels.
func TestNumbersOfAFormula(t *testing.T) {
	st := parse(t, formulaStudy)
	p := st.Model.Program
	want := map[string]float64{"falls": 4, "age": 54, "dose": 0, "ward_b": 0, "ward_c": 1}
	if len(p.Variables) != len(want) {
		t.Errorf("%d variables, not %d", len(p.Variables), len(want))
	}
	for _, v := range p.Variables {
		if got := st.Number(v.Parts[0], []float64{54, 1, 4, 0, 2}); got != want[v.Name] {
			t.Errorf("%s is %g, not %g", v.Name, got, want[v.Name])
		}
		if v.Whole != (v.Name == "falls") {
			t.Errorf("%s: whole is %v", v.Name, v.Whole)
		}
	}
	if !st.Counts(2) || st.Counts(0) {
		t.Error("other columns than the count have whole numbers")
	}
	if f := st.Model.Formula; f == nil || f.Priors[1].Density != "normal(0, 1)" || f.Priors[1].From != "prior.b of the study" {
		t.Errorf("the formula is %+v", f)
	}
}

func TestKeysOfFormulas(t *testing.T) {
	for setting, want := range map[string]string{
		`model.formula="falls ~ age + height + ward"`: "1:15: E601 height is not a column",
		`model.family="cox"`:                          "not a sum over records",
		"model.family=":                               "family: is missing",
		`model={ formula = "falls ~ age", family = "bernoulli", positive = ">= 20" }`: "positive: \">= 20\" is the same for every value",
		`model.terms=["age"]`:                         "beside formula",
		`model.program="wards.stan"`:                  "beside formula",
		`model.standardise="bounds"`:                  "their own units",
		`prior={ b_height = "normal(0, 1)" }`:         "prior.b_height: is not the prior of a parameter",
		"prior.b=3.0":                                 "prior.b",
		`prior.b="normal(0, tau)"`:                    "is not a density with numbers",
		"study.version=1":                             "version 2",
		`inference={ solver = "dp-sep", rounds = 3 }`: "not for formulas and programs",
	} {
		expect(t, formulaStudy, want, set(setting)...)
	}
}

// If whole clients are protected, formulas without effects of groups, curves and monotonic effects
// have intervals by default. A study with any other formula is refused unless it asks for point
// estimates.
func TestFormulasOfClients(t *testing.T) {
	clients := set(`privacy.unit="client"`, "federation.nominal_records=40")
	st := parse(t, formulaStudy, clients...)
	if in := st.Inference; in.Solver != study.Scoring || in.Rounds != 10 || st.Points() || !st.Honest() {
		t.Errorf("the study has %+v", in)
	}
	const grouped = `model.formula="falls ~ age + (1 | ward)"`
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{grouped}, "effects of groups"},
		{[]string{`model.formula="falls ~ s(age) + dose + ward"`}, "s() and mo()"},
		{[]string{grouped, `inference.solver="scoring"`}, "effects of groups"},
		{[]string{`inference={ solver = "svi", rounds = 3 }`}, "the default has intervals"},
	} {
		expect(t, formulaStudy, c.want, with(clients, c.settings...)...)
	}
	if st := parse(t, formulaStudy, with(clients, grouped, "privacy.clip=3.0", `inference={ rounds = 5, intervals = "none" }`)...); st.Inference.Solver == study.Scoring {
		t.Error("point estimates of groups have intervals")
	}
}
