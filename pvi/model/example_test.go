package model_test

import (
	"fmt"
	"math"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// This model cannot be written in a study file: a count that comes either from a component that is
// always zero or from a Poisson distribution.
func ExampleBuilder() {
	b := model.NewBuilder("zero-inflated counts")
	y, zero := b.Integer("y", 0, 1000), b.Integer("is_zero", 0, 1)
	x := b.Reals("x", []string{"age", "dose"}, -1, 1)

	beta := b.Vector("beta", []string{"age", "dose"}, model.Free, b.Normal(model.Normal{SD: 1}))
	share := b.Scalar("share", ir.Constraint{Kind: ir.Both, Upper: 1}, b.Of(ir.Beta, b.Number(1), b.Number(4)))

	// The first component has log density 0 for the count zero, and a very low one for all others.
	never := b.Mul(b.Apply(ir.Sub, b.Number(1), zero), b.Number(-1e6))
	first := b.Add(b.Apply(ir.Log, share), never)
	second := b.Add(b.Apply(ir.Log1p, b.Apply(ir.Neg, share)), b.LogDensity(ir.PoissonLog, y, b.Linear(x, beta)))
	m, err := b.Build(b.Apply(ir.LogSumExp, b.Apply(ir.Stack, first, second)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Names())

	table, err := m.Load(2, [][]float64{{0, 2}, {1, 0}, {.5, 0, 0, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	density := make([]float64, 2)
	m.LogDensities(density, []float64{0, 0, 0}, table)
	fmt.Printf("%.4f %.4f\n", math.Exp(density[0]), math.Exp(density[1]))
	// Output:
	// [beta[age] beta[dose] logit share]
	// 0.6839 0.0920
}
