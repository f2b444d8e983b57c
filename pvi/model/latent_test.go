package model_test

import (
	"testing"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A program is refused if its log density depends on a latent, or if an integral takes too many
// operations.
func TestLatentsThatCannotRun(t *testing.T) {
	b := model.NewBuilder("latent")
	y, u := b.Real("y", -1, 1), b.Latent("u")
	mu := b.Scalar("mu", model.Free, b.Normal(model.Normal{SD: 1}))
	if _, err := b.Build(b.LogDensity(ir.Normal, y, b.Add(mu, u), b.Number(1))); err == nil {
		t.Error("a latent has a value")
	}
	b = model.NewBuilder("long")
	y, u = b.Real("y", -1, 1), b.Latent("u")
	mu = b.Scalar("mu", model.Free, b.Normal(model.Normal{SD: 1}))
	sum := b.Add(mu, u)
	for range ir.MaxNodes / 30 {
		sum = b.Apply(ir.Tanh, sum)
	}
	if _, err := b.Build(b.Integrate([]model.Expr{u}, model.Quadrature{Points: 15, LeastPrecision: 1}, b.LogDensity(ir.Normal, y, sum, b.Number(1)))); err == nil {
		t.Error("an integral of too many operations was built")
	}
}
