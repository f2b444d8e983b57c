package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const formulaStudy = `[study]
version = 2
name = "wards"
[[column]]
name = "age"
type = "numeric"
bounds = [20, 90]
[[column]]
name = "dose"
type = "numeric"
bounds = [1, 100]
transform = "log"
[[column]]
name = "falls"
type = "numeric"
bounds = [0, 9]
[[column]]
name = "ward"
type = "categorical"
levels = ["a", "b", "c"]
[model]
formula = "falls ~ age + dose + ward"
family = "poisson"
[prior]
b = "normal(0, 1)"
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
`

// The program of a formula reads two kinds of numbers of a record: values of columns, after the
// columns' transforms, and indicators of levels.
func TestNumbersOfAFormula(t *testing.T) {
	st, err := study.Parse("study.toml", []byte(formulaStudy))
	if err != nil {
		t.Fatal(err)
	}
	p := st.Model.Program
	want := map[string]float64{"falls": 4, "age": 54, "dose": 0, "ward_b": 0, "ward_c": 1}
	if len(p.Variables) != len(want) {
		t.Errorf("%d variables, not %d", len(p.Variables), len(want))
	}
	for _, v := range p.Variables {
		if got := st.Number(v.Parts[0], []float64{54, 1, 4, 2}); got != want[v.Name] {
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

// The test checks that Parse refuses formulas with errors, and keys that have no meaning beside a
// formula. The error gives a remedy.
func TestKeysOfFormulas(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"age + dose", "age + height", "1:15: E601 height is not a column"},
		{`"poisson"`, `"cox"`, "not a sum over records"},
		{`family = "poisson"`, "", "family: is missing"},
		{`"poisson"`, `"bernoulli"` + "\npositive = \">= 20\"", "positive: \">= 20\" is the same for every value"},
		{`"poisson"`, `"poisson"` + "\nterms = [\"age\"]", "beside formula"},
		{`"poisson"`, `"poisson"` + "\nprogram = \"wards.stan\"", "beside formula"},
		{`"poisson"`, `"poisson"` + "\nstandardise = \"bounds\"", "their own units"},
		{"b = ", "b_height = ", "prior.b_height: is not the prior of a parameter"},
		{`"normal(0, 1)"`, "3.0", "prior.b"},
		{`"normal(0, 1)"`, `"normal(0, tau)"`, "is not a density with numbers"},
		{"version = 2", "version = 1", "version 2"},
		{"[prior]", "[inference]\nsolver = \"dp-sep\"\nrounds = 3\n[prior]", "not for formulas and programs"},
	} {
		if !strings.Contains(formulaStudy, c.old) {
			t.Fatal(c.old)
		}
		_, err := study.Parse("study.toml", []byte(strings.Replace(formulaStudy, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.new, err, c.want)
		}
	}
}

// If whole clients are protected, formulas without effects of groups, curves and monotonic effects
// have intervals by default. A study with any other formula is refused unless it asks for point
// estimates.
func TestFormulasOfClients(t *testing.T) {
	clients := strings.Replace(formulaStudy, `unit = "record"`, `unit = "client"`, 1) + "[federation]\nnominal_records = 40\n"
	st, err := study.Parse("study.toml", []byte(clients))
	if err != nil {
		t.Fatal(err)
	}
	if in := st.Inference; in.Solver != study.Scoring || in.Rounds != 10 || st.Points() || !st.Honest() {
		t.Errorf("the study has %+v", in)
	}
	grouped := strings.Replace(clients, "falls ~ age + dose + ward", "falls ~ age + (1 | ward)", 1)
	for _, c := range []struct{ text, more, want string }{
		{grouped, "", "effects of groups"},
		{strings.Replace(clients, "age +", "s(age) +", 1), "", "s() and mo()"},
		{grouped, "[inference]\nsolver = \"scoring\"\n", "effects of groups"},
		{clients, "[inference]\nsolver = \"svi\"\nrounds = 3\n", "the default has intervals"},
	} {
		if _, err := study.Parse("study.toml", []byte(c.text+c.more)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %q", err, c.want)
		}
	}
	points := strings.Replace(grouped, "delta = 1e-5", "delta = 1e-5\nclip = 3.0", 1) + "[inference]\nrounds = 5\nintervals = \"none\"\n"
	if st, err := study.Parse("study.toml", []byte(points)); err != nil || st.Inference.Solver == study.Scoring {
		t.Errorf("point estimates of groups: %v", err)
	}
}
