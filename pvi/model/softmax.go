package model

import (
	"fmt"
	"math"

	"fedpvi/pvi/model/ir"
)

// Softmax is multinomial logistic regression: outcomes 0, ..., K−1 for K classes,
// with log odds η_k = x·β_k + α_k. Every class has coefficients, which the prior
// identifies.
func Softmax(r Regression, classes []string) (*Model, error) {
	if len(classes) < 2 {
		return nil, fmt.Errorf("softmax regression: %d classes, at least 2 are needed", len(classes))
	}
	if r.Priors != nil {
		return nil, fmt.Errorf("softmax regression: the coefficients of all classes have one prior")
	}
	b := NewBuilder("softmax regression")
	y := b.Integer(r.Outcome, 0, float64(len(classes)-1))
	bound := r.Bound
	if bound == 0 {
		bound = math.Inf(1)
	}
	x := b.Reals("x", r.Features, -bound, bound)
	beta := b.Parameter(ir.Parameter{
		Name: "beta", Rows: len(classes), Cols: len(r.Features), Entries: ir.NamesOf(pairs(classes, r.Features)...),
	}, b.Normal(r.Coefficients))
	eta := b.MatVec(beta, x)
	if r.Intercept != nil {
		eta = b.Add(eta, b.Vector("alpha", classes, Free, b.Normal(*r.Intercept)))
	}
	b.Predict(ir.Probabilities, y, b.Apply(ir.Softmax, eta))
	return b.Build(b.LogDensity(ir.Categorical, y, eta))
}

// pairs names the elements of a matrix by its rows' and columns' names.
func pairs(rows, cols []string) []string {
	out := make([]string, 0, len(rows)*len(cols))
	for _, r := range rows {
		for _, c := range cols {
			out = append(out, r+","+c)
		}
	}
	return out
}
