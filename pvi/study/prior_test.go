package study_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// In version 3, models of log odds or log rates have wider default priors, and the noise is
// expected to be smaller. Versions 1 and 2 keep their old defaults.
func TestDefaultPriors(t *testing.T) {
	for _, c := range []struct {
		model string
		old   study.Prior
		since study.Prior // default prior from version 3 on
	}{
		{`family = "logistic", outcome = "c", positive = "b"`, study.Prior{SD: 1}, study.Prior{SD: 2.5}},
		{`family = "probit", outcome = "c", positive = "b"`, study.Prior{SD: 1}, study.Prior{SD: 2.5}},
		{`family = "softmax", outcome = "c"`, study.Prior{SD: 1}, study.Prior{SD: 2.5}},
		{`family = "poisson", outcome = "n"`, study.Prior{SD: 1}, study.Prior{SD: 2.5}},
		{
			`family = "negative-binomial", outcome = "n"`,
			study.Prior{SD: 1, Dispersion: study.LogNormal{Median: 3, Factor: 5}},
			study.Prior{SD: 2.5, Dispersion: study.LogNormal{Median: 3, Factor: 5}},
		},
		{`family = "linear", outcome = "y", noise_sd = 2.0`, study.Prior{SD: 1}, study.Prior{SD: 1}},
		{
			`family = "linear", outcome = "y", noise_sd = "learned"`,
			study.Prior{SD: 1, Scale: study.LogNormal{Median: .5, Factor: 3}},
			study.Prior{SD: 1, Scale: study.LogNormal{Median: .2, Factor: 4}},
		},
		{
			`family = "robust", outcome = "y"`,
			study.Prior{SD: 1, Scale: study.LogNormal{Median: .5, Factor: 3}},
			study.Prior{SD: 1, Scale: study.LogNormal{Median: .2, Factor: 4}},
		},
	} {
		for version := 1; version <= study.Version; version++ {
			st, err := study.Parse("t.toml", fmt.Appendf(nil, `
study = { version = %d, name = "s" }
privacy.unit = "none"
inference.rounds = 3
model = { %s, terms = ["u"] }
column = [
  { name = "u", type = "numeric", bounds = [0, 10] },
  { name = "y", type = "numeric", bounds = [-2, 2] },
  { name = "n", type = "numeric", bounds = [0, 9] },
  { name = "c", type = "categorical", levels = ["a", "b"] },
]`, version, c.model))
			if err != nil {
				t.Fatal(err)
			}
			want := c.old
			if version >= 3 {
				want = c.since
			}
			if intercept := st.Prior.For(study.Intercept); intercept != (study.Normal{SD: want.SD}) {
				t.Errorf("version %d, %s: the intercept has the prior %v, want the sd %g", version, c.model, intercept, want.SD)
			}
			if got := st.Prior; got.Mean != 0 || got.SD != want.SD || got.Scale != want.Scale || got.Dispersion != want.Dispersion {
				t.Errorf("version %d, %s: %+v, want %+v", version, c.model, got, want)
			}
		}
	}
}

// With many coefficients, their default prior is narrower, so that the predictor varies about as
// much as with few. A prior given in the study also applies to the intercept. If an exception for
// one coefficient gives only a mean, the standard deviation stays at its default.
func TestDefaultPriorOfManyCoefficients(t *testing.T) {
	for _, c := range []struct {
		levels           int
		prior            string
		slope, intercept study.Normal
	}{
		{6, "", study.Normal{SD: 2.5}, study.Normal{SD: 2.5}},
		{21, "", study.Normal{SD: 1.25}, study.Normal{SD: 2.5}},
		{101, "", study.Normal{SD: 1}, study.Normal{SD: 2.5}},
		{101, "prior.sd = 0.7", study.Normal{SD: .7}, study.Normal{SD: .7}},
		{101, "prior.coefficients.intercept.mean = 0.3", study.Normal{SD: 1}, study.Normal{Mean: .3, SD: 2.5}},
		{101, "prior = { sd = 0.7, coefficients.intercept.mean = 0.3 }", study.Normal{SD: .7}, study.Normal{Mean: .3, SD: .7}},
	} {
		var levels []string
		for k := range c.levels {
			levels = append(levels, fmt.Sprintf("%q", fmt.Sprint("l", k)))
		}
		st, err := study.Parse("t.toml", fmt.Appendf(nil, `
study = { version = 3, name = "s" }
privacy.unit = "none"
%s
model = { family = "logistic", outcome = "c", positive = "b", terms = ["g"] }
column = [
  { name = "g", type = "categorical", levels = [%s] },
  { name = "c", type = "categorical", levels = ["a", "b"] },
]`, c.prior, strings.Join(levels, ", ")))
		if err != nil {
			t.Fatal(err)
		}
		slope, intercept := st.Prior.For("g[l1]"), st.Prior.For(study.Intercept)
		if slope != c.slope || intercept != c.intercept {
			t.Errorf("%d levels, %q: %v and %v, want %v and %v", c.levels, c.prior, slope, intercept, c.slope, c.intercept)
		}
	}
}
