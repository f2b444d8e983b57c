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

// The expected outcome of a logistic regression is the logistic function of the predictor. Its
// quantiles are the same function of the predictor's quantiles, which is normal under the posterior.
func TestConditional(t *testing.T) {
	m := parsed(t, conditionalStudy)
	mean, sd := []float64{-.5, 1.5, .25}, []float64{.2, .3, .1}
	cov := mat.NewDiagDense(3, []float64{sd[0] * sd[0], sd[1] * sd[1], sd[2] * sd[2]})
	family := gaussian.Diagonal(3)
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean, cov); err != nil {
		t.Fatal(err)
	}
	c, err := m.Conditional(m.Draws(family, natural))
	if err != nil {
		t.Fatal(err)
	}
	logistic := func(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }
	want := []struct {
		column, value string
		x, g          float64 // on the model's scale
	}{{"x", "1", -1, 0}, {"x", "2", -.5, 0}, {"x", "4", 0, 0}, {"x", "8", .5, 0}, {"x", "16", 1, 0}, {"g", "a", 0, 0}, {"g", "b", 0, 1}}
	if len(c.Rows) != len(want) || len(c.Names) != 1 || len(c.Reference) != 2 || c.Reference[0] != (fit.Held{Column: "x", Value: "4", Unit: "mm"}) || c.Reference[1] != (fit.Held{Column: "g", Value: "a"}) {
		t.Fatalf("%+v", c)
	}
	for i, w := range want {
		eta := mean[0] + mean[1]*w.x + mean[2]*w.g
		spread := math.Sqrt(sd[0]*sd[0] + sd[1]*sd[1]*w.x*w.x + sd[2]*sd[2]*w.g*w.g)
		got := c.Rows[i]
		// The median and the outer quantiles of 1,024 draws have sds of at most .04 and .09 in units of the spread.
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

// A program states its own quantities, and has no conditional effects.
func TestProgramsHaveNoConditional(t *testing.T) {
	m := parsed(t, fmt.Sprintf(newModel, "y[n] ~ normal(eta, 0.8);", ""))
	if c, err := m.Conditional(fit.At([]float64{0, 0})); c != nil || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}
