package model

import (
	"fmt"

	"fedpvi/pvi/model/ir"
)

// MixtureOptions describe a Gaussian mixture.
type MixtureOptions struct {
	// Components is K, from 2 on.
	Components int
	// Variables names the numbers of a record.
	Variables []string
	// Bound is the largest absolute value that data may have.
	Bound float64
	// Concentration is that of the symmetric Dirichlet prior of the weights.
	Concentration float64
	// Means is the prior of every component's means.
	Means Normal
	// Shape and Scale are those of the inverse-gamma prior of every variance.
	Shape, Scale float64
}

// Mixture is a mixture of K Gaussians with independent variables. The component of
// a record is summed out,
//
//	ℓ_n = log Σ_k w_k Π_v N(x_nv | μ_vk, s_vk),
//
// so a record depends on the parameters alone. Weights, means and variances live in
// the unconstrained space through their transforms.
func Mixture(o MixtureOptions) (*Model, error) {
	k := o.Components
	if k < 2 || len(o.Variables) == 0 || !(o.Bound > 0) {
		return nil, fmt.Errorf("mixture: it needs at least 2 components, a variable and a positive bound")
	}
	b := NewBuilder("Gaussian mixture")
	x := b.Reals("x", o.Variables, -o.Bound, o.Bound)
	weights := b.Parameter(ir.Parameter{
		Name: "weight", Rows: k, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex},
	}, b.Of(ir.Dirichlet, b.Number(o.Concentration)))
	shape := []int{len(o.Variables), k}
	mean := b.Parameter(ir.Parameter{Name: "mean", Rows: shape[0], Cols: shape[1]}, b.Normal(o.Means))
	variance := b.Parameter(ir.Parameter{
		Name: "variance", Rows: shape[0], Cols: shape[1], Constraint: Positive,
	}, b.Of(ir.InvGamma, b.Number(o.Shape), b.Number(o.Scale)))
	sd := b.Apply(ir.Sqrt, variance)
	terms := b.Apply(ir.Log, weights)
	for v := range o.Variables {
		terms = b.Add(terms, b.LogDensity(ir.Normal, b.Element(x, v), b.Slice(mean, v*k, k, 1), b.Slice(sd, v*k, k, 1)))
	}
	return b.Build(b.Apply(ir.LogSumExp, terms))
}
