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
		{truths["multilevel"].build, `regression

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

// The length of this expression's full text doubles with each of 200 nodes. Its description must
// stay short.
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

// Build returns the error of the first wrong call, even if correct calls follow it.
func TestBuilderErrors(t *testing.T) {
	unbounded := math.Inf(1)
	// normal builds the model y ~ N(x·beta, sigma), in which beta has the prior N(0, sd²).
	normal := func(outcome string, features []string, sd, sigma float64) func() (*model.Model, error) {
		return func() (*model.Model, error) {
			b := model.NewBuilder("regression")
			y, x := b.Real(outcome, -unbounded, unbounded), b.Reals("x", features, -unbounded, unbounded)
			eta := b.Linear(x, b.Vector("beta", features, model.Free, b.Normal(model.Normal{SD: sd})))
			return b.Build(b.LogDensity(ir.Normal, y, eta, b.Number(sigma)))
		}
	}
	features := []string{"a", "b"}
	for _, c := range []struct {
		want  string
		build func() (*model.Model, error)
	}{
		{"entries", normal("y", nil, 1, 1)},
		{"positive", normal("y", features, 0, 1)},
		{"not finite", normal("y", features, math.Inf(1), 1)},
		{"name", normal("", features, 1, 1)},
		{"twice", normal("x", features, 1, 1)},
		{"positive", normal("y", features, 1, -1)},
		{"bounds", func() (*model.Model, error) {
			b := model.NewBuilder("counts up to 0")
			y := b.Integer("y", 0, 0)
			return b.Build(b.LogDensity(ir.PoissonLog, y, b.Scalar("rate", model.Free, b.Normal(unit))))
		}},
		{"positive", func() (*model.Model, error) {
			b := model.NewBuilder("a gamma prior of negative shape")
			y := b.Integer("y", 0, 9)
			phi := b.Scalar("phi", model.Positive, b.Of(ir.Gamma, b.Number(-1), b.Number(1)))
			return b.Build(b.LogDensity(ir.NegBinomialLog, y, b.Number(0), phi))
		}},
		{"not an expression", func() (*model.Model, error) {
			b := model.NewBuilder("empty")
			return b.Build(b.Apply(ir.Exp, model.Expr{}))
		}},
	} {
		if _, err := c.build(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
}
