package model_test

import (
	"math"
	"strings"
	"testing"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		build func() (*model.Model, error)
		want  string
	}{
		{truths["multilevel"].build, `multilevel regression

parameters
  beta, a vector of 3 ~ normal(0, 1)
  alpha ~ normal(1, 2)
  sd_intercept ~ normal(0, 1), above 0
  z_intercept, a vector of 3 ~ normal(0, 1)
  sd_b ~ normal(0, 1), above 0
  z_b, a vector of 3 ~ normal(0, 1)
  sigma ~ cauchy(0, 1), above 0

one record adds to the log density
  log normal(y | x·beta + alpha + sd_intercept·z_intercept[g] + sd_b·z_b[g]·x[b], sigma)

read of a row
  y: a number without public bounds
  x: 3 numbers (a, b, c), each in [-50, 50]
  g: a whole number in [0, 2]

predicted
  the mean of y: x·beta + alpha + sd_intercept·z_intercept[g] + sd_b·z_b[g]·x[b]
`},
		{truths["mixture"].build, `Gaussian mixture

parameters
  weight, a vector of 2 ~ dirichlet(1.5), positive with sum 1
  mean, a matrix of 1×2 ~ normal(0, 3)
  variance, a matrix of 1×2 ~ inv_gamma(2, 1), above 0

one record adds to the log density
  log_sum_exp(log(weight) + log normal(x[u] | mean[1..2], sqrt(variance)[1..2]))

read of a row
  x: a number (u) in [-1000, 1000]
`},
	} {
		m, err := c.build()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Describe().String(); got != c.want {
			t.Errorf("described as\n%s\nwant\n%s", got, c.want)
		}
	}
}

// A description is short even if writing every expression out would double it at
// each node.
func TestDescriptionIsBounded(t *testing.T) {
	b := model.NewBuilder("doubling")
	y := b.Real("y", -1, 1)
	e := b.Scalar("mu", model.Free, b.Normal(unit))
	for range 200 {
		e = b.Mul(e, e)
	}
	m, err := b.Build(b.LogDensity(ir.Normal, y, e, b.Number(1)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Describe().Record); n > 100_000 {
		t.Errorf("%d characters", n)
	}
}

func TestNames(t *testing.T) {
	m := truths["mixture"].model(t)
	want := "stick weight[1], mean[1,1], mean[1,2], log variance[1,1], log variance[1,2]"
	if got := strings.Join(m.Names(), ", "); got != want {
		t.Errorf("coordinates %s, want %s", got, want)
	}
	want = "weight[1], weight[2], mean[1,1], mean[1,2], variance[1,1], variance[1,2]"
	if got := strings.Join(m.ConstrainedNames(), ", "); got != want {
		t.Errorf("elements %s, want %s", got, want)
	}
}

// Options that make no model are errors that say what is wrong.
func TestCatalogueErrors(t *testing.T) {
	r := regression
	change := func(f func(r *model.Regression)) model.Regression {
		c := r
		f(&c)
		return c
	}
	none := change(func(r *model.Regression) { r.Features = nil })
	for _, c := range []struct {
		want  string
		build func() (*model.Model, error)
	}{
		{"entries", func() (*model.Model, error) { return model.Logistic(none) }},
		{"positive", func() (*model.Model, error) {
			return model.Logistic(change(func(r *model.Regression) { r.Coefficients.SD = 0 }))
		}},
		{"not finite", func() (*model.Model, error) {
			return model.Logistic(change(func(r *model.Regression) { r.Coefficients.SD = math.Inf(1) }))
		}},
		{"priors", func() (*model.Model, error) {
			return model.Logistic(change(func(r *model.Regression) { r.Priors = []model.Normal{unit} }))
		}},
		{"name", func() (*model.Model, error) {
			return model.Logistic(change(func(r *model.Regression) { r.Outcome = "" }))
		}},
		{"twice", func() (*model.Model, error) {
			return model.Logistic(change(func(r *model.Regression) { r.Outcome = "x" }))
		}},
		{"scale of the noise", func() (*model.Model, error) { return model.NormalRegression(r, 0) }},
		{"scale of the noise", func() (*model.Model, error) { return model.Robust(r, 4, math.NaN()) }},
		{"positive", func() (*model.Model, error) { return model.Robust(r, -1, 1) }},
		{"bounds", func() (*model.Model, error) { return model.Poisson(r, 0) }},
		{"positive", func() (*model.Model, error) { return model.NegativeBinomial(r, 9, -1, 1) }},
		{"classes", func() (*model.Model, error) { return model.Softmax(r, []string{"one"}) }},
		{"no feature", func() (*model.Model, error) {
			return model.Multilevel(r, model.Groups{Column: "g", Names: group, Slopes: []string{"z"}, Scale: 1}, model.LogisticFamily, 0, 0)
		}},
		{"groups", func() (*model.Model, error) {
			return model.Multilevel(r, model.Groups{Column: "g", Scale: 1}, model.LogisticFamily, 0, 0)
		}},
		{"no family", func() (*model.Model, error) { return model.Multilevel(r, groups, 99, 0, 0) }},
		{"characteristics", func() (*model.Model, error) { return model.Characteristics(r, groups, traits[:2], unit) }},
		{"characteristics", func() (*model.Model, error) {
			return model.Characteristics(r, groups, [][]float64{{1}, {1, 2}, {3}}, unit)
		}},
		{"components", func() (*model.Model, error) { return model.Mixture(model.MixtureOptions{Components: 1}) }},
		{"hidden", func() (*model.Model, error) { return model.Network(r, 0, model.LogisticFamily, 0, 0) }},
		{"no expression", func() (*model.Model, error) {
			b := model.NewBuilder("empty")
			return b.Build(b.Apply(ir.Exp, model.Expr{}))
		}},
	} {
		if _, err := c.build(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
}
