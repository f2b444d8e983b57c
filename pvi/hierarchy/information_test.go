package hierarchy

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// For a diagonal W, information computes the same bits without matrix products. The posterior of a
// finished study must not change.
func TestDiagonalInformation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for n := 1; n < 60; n++ {
		p := &Joint{observed: n - n/4}
		p.rest = append(p.rest, r.Perm(n + n/3)[:n]...)
		factors := mat.NewDense(p.observed, p.observed+2, nil)
		factors.Apply(func(int, int, float64) float64 { return r.NormFloat64() }, factors)
		l := &Likelihood{Precision: mat.NewSymDense(p.observed, nil)}
		l.Precision.SymOuterK(30, factors)
		root, observed := mat.NewDense(n, n, nil), mat.NewDense(p.observed, n, nil)
		for k, i := range p.rest {
			root.Set(k, k, r.ExpFloat64())
			if i < p.observed {
				observed.Set(i, k, root.At(k, k))
			}
		}
		var half, want mat.Dense
		half.Mul(l.Precision, observed)
		want.Mul(observed.T(), &half)
		got := p.information(l, root, observed)
		for i := range n {
			for j := i; j < n; j++ {
				if w := (want.At(i, j) + want.At(j, i)) / 2; got.At(i, j) != w {
					t.Fatalf("size %d: element %d, %d is %v, want %v", n, i, j, got.At(i, j), w)
				}
			}
		}
	}
}
