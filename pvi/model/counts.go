package model

import (
	"math"

	"fedpvi/pvi/model/ir"
)

// Probit is probit regression: an outcome 0 or 1 with P(1) = Φ(η).
func Probit(r Regression) (*Model, error) {
	b := NewBuilder("probit regression")
	y := b.Integer(r.Outcome, 0, 1)
	_, eta := r.predictor(b)
	b.Predict(ir.Probability, y, b.Apply(ir.Phi, eta))
	return b.Build(b.LogDensity(ir.BernoulliProbit, y, eta))
}

// Poisson is Poisson regression of counts up to most, with mean e^η.
func Poisson(r Regression, most float64) (*Model, error) {
	b := NewBuilder("Poisson regression")
	y := b.Integer(r.Outcome, 0, most)
	_, eta := r.predictor(b)
	b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
	return b.Build(b.LogDensity(ir.PoissonLog, y, eta))
}

// NegativeBinomial is negative binomial regression of counts up to most, with mean
// μ = e^η and variance μ + μ²/φ; φ has a gamma prior with the given shape and rate.
func NegativeBinomial(r Regression, most, shape, rate float64) (*Model, error) {
	b := NewBuilder("negative binomial regression")
	y := b.Integer(r.Outcome, 0, most)
	_, eta := r.predictor(b)
	phi := b.Scalar("phi", Positive, b.Of(ir.Gamma, b.Number(shape), b.Number(rate)))
	b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
	return b.Build(b.LogDensity(ir.NegBinomialLog, y, eta, phi))
}

// Robust is linear regression with Student-t noise of nu degrees of freedom, whose
// scale is learned and half-Cauchy with the given scale.
func Robust(r Regression, nu, scale float64) (*Model, error) {
	if err := scaled(scale); err != nil {
		return nil, err
	}
	b := NewBuilder("robust regression")
	y := b.Real(r.Outcome, math.Inf(-1), math.Inf(1))
	_, eta := r.predictor(b)
	sigma := b.Scalar("sigma", Positive, b.Of(ir.Cauchy, b.Number(0), b.Number(scale)))
	b.Predict(ir.Mean, y, eta)
	return b.Build(b.LogDensity(ir.StudentT, y, b.Number(nu), eta, sigma))
}
