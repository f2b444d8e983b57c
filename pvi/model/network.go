package model

import (
	"fmt"
	"math"

	"fedpvi/pvi/model/ir"
)

// Network is a Bayesian neural network with one hidden layer of tanh units:
// η = v·tanh(Wx + b) + c, with normal priors of the weights, scaled as usual by the
// square root of the number of inputs of a unit.
func Network(r Regression, hidden int, family Family, scale, most float64) (*Model, error) {
	if hidden < 1 || hidden > ir.MaxRecordVector || len(r.Features) == 0 {
		return nil, fmt.Errorf("neural network: %d hidden units, 1..%d and a feature are needed", hidden, ir.MaxRecordVector)
	}
	b := NewBuilder("Bayesian neural network")
	y, err := family.outcome(b, r.Outcome, most)
	if err != nil {
		return nil, err
	}
	bound := r.Bound
	if bound == 0 {
		bound = math.Inf(1)
	}
	p := r.Coefficients
	x := b.Reals("x", r.Features, -bound, bound)
	w := b.Parameter(ir.Parameter{Name: "W", Rows: hidden, Cols: len(r.Features)},
		b.Normal(Normal{p.Mean, p.SD / math.Sqrt(float64(len(r.Features)))}))
	bias := b.Parameter(ir.Parameter{Name: "b", Rows: hidden, Cols: 1}, b.Normal(p))
	v := b.Parameter(ir.Parameter{Name: "v", Rows: hidden, Cols: 1}, b.Normal(Normal{p.Mean, p.SD / math.Sqrt(float64(hidden))}))
	c := b.Scalar("c", Free, b.Normal(p))
	h := b.Apply(ir.Tanh, b.Dense(w, bias, x))
	return family.build(b, y, b.Add(b.Apply(ir.Dot, h, v), c), scale)
}
