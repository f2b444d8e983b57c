package model

import (
	"errors"
	"math"

	"fedpvi/pvi/model/ir"
)

// Regression is what regression models have in common: a linear predictor
// η = α + x·β of the features.
type Regression struct {
	// Outcome names the column that is explained.
	Outcome string
	// Features names the entries of the column "x". A constant 1 among them, with a
	// coefficient of its own, is as good as Intercept.
	Features []string
	// Bound is the largest |x_j| that data may have; 0 means no bound.
	Bound float64
	// Coefficients is the prior of every coefficient; Priors, if not nil, gives one
	// for each instead.
	Coefficients Normal
	Priors       []Normal
	// Intercept, if not nil, adds α with this prior.
	Intercept *Normal
}

// predictor declares features, coefficients and η.
func (r *Regression) predictor(b *Builder) (x, eta Expr) {
	bound := r.Bound
	if bound == 0 {
		bound = math.Inf(1)
	}
	x = b.Reals("x", r.Features, -bound, bound)
	beta := b.Vector("beta", r.Features, Free, r.coefficients(b))
	eta = b.Linear(x, beta)
	if r.Intercept != nil {
		eta = b.Add(eta, b.Scalar("alpha", Free, b.Normal(*r.Intercept)))
	}
	return x, eta
}

func (r *Regression) coefficients(b *Builder) Distribution {
	if r.Priors == nil {
		return b.Normal(r.Coefficients)
	}
	if len(r.Priors) != len(r.Features) {
		b.fail("%d features and %d priors", len(r.Features), len(r.Priors))
	}
	mean, sd := make([]float64, len(r.Priors)), make([]float64, len(r.Priors))
	for i, p := range r.Priors {
		mean[i], sd[i] = p.Mean, p.SD
	}
	return b.Of(ir.Normal, b.Numbers(mean...), b.Numbers(sd...))
}

// scaled returns an error if a scale prior is missing.
func scaled(scale float64) error {
	if !(scale > 0) || math.IsInf(scale, 0) {
		return errors.New("the prior scale of the noise must be positive and finite")
	}
	return nil
}

// Logistic is logistic regression: an outcome 0 or 1 with log odds η.
func Logistic(r Regression) (*Model, error) {
	b := NewBuilder("logistic regression")
	y := b.Integer(r.Outcome, 0, 1)
	_, eta := r.predictor(b)
	b.Predict(ir.Probability, y, b.Apply(ir.InvLogit, eta))
	return b.Build(b.LogDensity(ir.BernoulliLogit, y, eta))
}

// NormalRegression is linear regression with a learned standard deviation:
// y ~ N(η, σ²), σ half-Cauchy with the given scale.
func NormalRegression(r Regression, scale float64) (*Model, error) {
	if err := scaled(scale); err != nil {
		return nil, err
	}
	b := NewBuilder("linear regression")
	y := b.Real(r.Outcome, math.Inf(-1), math.Inf(1))
	_, eta := r.predictor(b)
	sigma := b.Scalar("sigma", Positive, b.Of(ir.Cauchy, b.Number(0), b.Number(scale)))
	b.Predict(ir.Mean, y, eta)
	return b.Build(b.LogDensity(ir.Normal, y, eta, sigma))
}
