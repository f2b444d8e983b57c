package fit_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
)

const conditionalStudy = `
study = { version = 2, name = "conditional" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 100 }
[[column]]
name = "x"
type = "numeric"
unit = "mm"
bounds = [1, 16]
transform = "log"
[[column]]
name = "unused"
type = "numeric"
bounds = [0, 1]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
[model]
family = "logistic"
outcome = "y"
positive = "yes"
terms = ["x", "g"]
`

// In a logistic regression, the predictor is normal. Applying the logistic function to its
// quantiles gives the quantiles of the expected outcome.
func TestConditional(t *testing.T) {
	m := parsed(t, conditionalStudy)
	mean, sd := []float64{-.5, 1.5, .25}, []float64{.2, .3, .1}
	cov := mat.NewDiagDense(3, []float64{sd[0] * sd[0], sd[1] * sd[1], sd[2] * sd[2]})
	family := gaussian.Diagonal(3)
	natural := naturalOf(t, family, mean, cov)
	c, err := m.Conditional(m.Draws(family, natural))
	if err != nil {
		t.Fatal(err)
	}
	logistic := func(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }
	want := []struct {
		column, value string
		x, g          float64 // values on the model's scale
	}{{"x", "1", -1, 0}, {"x", "2", -.5, 0}, {"x", "4", 0, 0}, {"x", "8", .5, 0}, {"x", "16", 1, 0}, {"g", "a", 0, 0}, {"g", "b", 0, 1}}
	if len(c.Rows) != len(want) || len(c.Names) != 1 || len(c.Reference) != 2 || c.Reference[0] != (fit.Held{Column: "x", Value: "4", Unit: "mm"}) || c.Reference[1] != (fit.Held{Column: "g", Value: "a"}) {
		t.Fatalf("%+v", c)
	}
	for i, w := range want {
		eta := mean[0] + mean[1]*w.x + mean[2]*w.g
		spread := math.Sqrt(sd[0]*sd[0] + sd[1]*sd[1]*w.x*w.x + sd[2]*sd[2]*w.g*w.g)
		got := c.Rows[i]
		// With 1,024 draws, the quantiles have standard deviations of at most .04 and .09, relative to
		// the spread.
		for _, q := range []struct{ got, z, tolerance float64 }{{got.Of[0].Q50, 0, .16}, {got.Of[0].Lower, -1.96, .36}, {got.Of[0].Upper, 1.96, .36}} {
			if low, high := logistic(eta+(q.z-q.tolerance)*spread), logistic(eta+(q.z+q.tolerance)*spread); got.Column != w.column || got.Value != w.value || !(low < q.got && q.got < high) {
				t.Errorf("%s = %s: a quantile is %g, not between %g and %g for %s = %s", got.Column, got.Value, q.got, low, high, w.column, w.value)
			}
		}
	}
	if c, err := m.Conditional(fit.At([]float64{0, 0, 0})); err != nil || c != nil {
		t.Errorf("columns without an effect are shown: %+v, %v", c, err)
	}
}

// The expected outcomes of a program are the generated quantities whose names end in _expected. If
// the program generates no quantities, the expected outcome is the mean of the outcome.
func TestConditionalOfAProgram(t *testing.T) {
	theta := []float64{.3, -.2}
	mean := func(x float64) float64 { return theta[0] + theta[1]*x }
	for generated, want := range map[string]map[string]func(x float64) float64{
		"": {"y_expected": mean},
		"generated quantities { vector[N] other; for (n in 1:N) other[n] = a * x[n] + y[n]; }": {},
		"generated quantities { vector[N] s_expected; vector[N] t_expected; vector[N] y_rep; for (n in 1:N) { s_expected[n] = square(a + b * x[n]); t_expected[n] = exp(x[n]); y_rep[n] = 1; } }": {
			"s_expected": func(x float64) float64 { return mean(x) * mean(x) },
			"t_expected": math.Exp,
		},
	} {
		m := parsed(t, fmt.Sprintf(newModel, "y[n] ~ normal(a + b * x[n], 0.8);", generated))
		c, err := m.Conditional(fit.At(theta))
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 {
			if c != nil {
				t.Errorf("%s: %+v", generated, c)
			}
			continue
		}
		if len(c.Rows) != 5 || len(c.Names) != len(want) || len(c.Reference) != 1 {
			t.Fatalf("%s: %+v", generated, c)
		}
		for i, row := range c.Rows {
			x := -3 + 1.5*float64(i)
			for k, name := range c.Names {
				if got := row.Of[k]; row.Column != "x" || want[name] == nil || math.Abs(got.Mean-want[name](x)) > 1e-12 {
					t.Errorf("%s at %s = %s: %+v", name, row.Column, row.Value, got)
				}
			}
		}
	}
}

const conditionalFormula = `
study = { version = 2, name = "formula" }
model = { formula = "count | rate(t) ~ x + g", family = "poisson" }
privacy = { unit = "none" }
[[column]]
name = "count"
type = "numeric"
bounds = [0, 15]
[[column]]
name = "t"
type = "numeric"
bounds = [1, 3]
[[column]]
name = "x"
type = "numeric"
bounds = [0, 8]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b"]
`

// In a Poisson formula the expected count is exposure · exp(η). In η, x is replaced by its distance
// from the middle of its bounds. The column of the outcome is not varied.
func TestConditionalOfAFormula(t *testing.T) {
	m := parsed(t, conditionalFormula)
	theta := []float64{.5, .25, -.75}
	c, err := m.Conditional(fit.At(theta))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		column, value string
		t, x, g       float64
	}{
		{"t", "1", 1, 4, 0},
		{"t", "1.5", 1.5, 4, 0},
		{"t", "2", 2, 4, 0},
		{"t", "2.5", 2.5, 4, 0},
		{"t", "3", 3, 4, 0},
		{"x", "0", 2, 0, 0},
		{"x", "2", 2, 2, 0},
		{"x", "4", 2, 4, 0},
		{"x", "6", 2, 6, 0},
		{"x", "8", 2, 8, 0},
		{"g", "a", 2, 4, 0},
		{"g", "b", 2, 4, 1},
	}
	if len(c.Rows) != len(want) || len(c.Names) != 1 || c.Names[0] != "count_expected" || len(c.Reference) != 3 {
		t.Fatalf("%+v", c)
	}
	for i, w := range want {
		got, mean := c.Rows[i], w.t*math.Exp(theta[0]+theta[1]*(w.x-4)+theta[2]*w.g)
		if q := got.Of[0]; got.Column != w.column || got.Value != w.value || q.Spread == nil || math.Abs(q.Mean/mean-1) > 1e-12 || math.Abs(q.Lower/mean-1) > 1e-12 {
			t.Errorf("%s = %s is expected at %+v, want %g for %s = %s", got.Column, got.Value, q, mean, w.column, w.value)
		}
	}
}
