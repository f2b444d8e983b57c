package study_test

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/pvi/study"
)

const formulaStudy = wards + `
model = { formula = "falls ~ age + dose + ward", family = "poisson" }
prior = { b = "normal(0, 1)" }
`

// The program made from a formula gets transformed column values, and indicators of levels.
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

// If whole clients are protected, formulas without group effects, curves and monotonic effects have
// intervals by default. All other formulas are refused, unless the study asks for point estimates.
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

// From version 3 on, the default priors of a formula are the same as those of the corresponding
// family, but in natural units. On the model's scale, half the width of a column's bounds is 1.
func TestPriorsOfAFormula(t *testing.T) {
	const halfX, halfY = 5, 40
	priors := func(version int, model string) (*study.Study, map[string]string) {
		st, err := study.Parse("t.toml", fmt.Appendf(nil, `
study = { version = %d, name = "s" }
privacy.unit = "none"
model = { %s }
column = [
  { name = "u", type = "numeric", bounds = [0, 10] },
  { name = "y", type = "numeric", bounds = [60, 140] },
  { name = "n", type = "numeric", bounds = [0, 9] },
]`, version, model))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		if st.Model.Formula != nil {
			for _, p := range st.Model.Formula.Priors {
				all[p.Parameter] = p.Density
			}
		}
		return st, all
	}
	logNormal := func(p study.LogNormal, unit float64) string {
		return fmt.Sprintf("lognormal(%.3g, %.3g)", math.Log(p.Median*unit), math.Log(p.Factor))
	}
	linear, _ := priors(study.Version, `family = "linear", outcome = "y", terms = ["u"], noise_sd = "learned"`)
	counts, _ := priors(study.Version, `family = "negative-binomial", outcome = "n", terms = ["u"]`)
	slope := fmt.Sprintf("normal(0, %.3g)", linear.Prior.For("u").SD*halfY/halfX)
	for _, c := range []struct{ formula, family, parameter, since, before string }{
		{"y ~ u", "gaussian", "b_u", slope, "normal(0, 20)"},
		{"y ~ u", "student", "b_u", slope, "normal(0, 20)"},
		{"y ~ u", "gaussian", "sigma", logNormal(linear.Prior.Scale, halfY), "student_t(3, 0, 23.1)"},
		{"n ~ u", "negbinomial", "shape", logNormal(counts.Prior.Dispersion, 1), "gamma(2, 0.1)"},
		{"y ~ u", "Gamma", "shape", logNormal(counts.Prior.Dispersion, 1), "gamma(2, 0.1)"},
	} {
		for version := 2; version <= study.Version; version++ {
			want := c.before
			if version >= 3 {
				want = c.since
			}
			if _, all := priors(version, fmt.Sprintf("formula = %q, family = %q", c.formula, c.family)); all[c.parameter] != want {
				t.Errorf("version %d, %s of %s: %q has the prior %s, want %s", version, c.formula, c.family, c.parameter, all[c.parameter], want)
			}
		}
	}
}
