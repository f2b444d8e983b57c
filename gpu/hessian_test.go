package gpu

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// The test compares every model's Hessian with central differences of its gradient, and
// HessianDiagonal with the diagonal of the Hessian.
func TestHessian(t *testing.T) {
	for name := range zoo {
		t.Run(name, func(t *testing.T) {
			m := build(t, name)
			rng := rand.New(rand.NewSource(2))
			e := compile(t, CPU{}, m, randomTable(t, m, rng, 70, 1))
			d := m.Dim()
			theta := randomPoint(m, rng, .3)
			got, diagonal := make([]float64, d*(d+1)/2), make([]float64, d)
			if err := e.Hessian(got, theta); err != nil {
				t.Fatal(err)
			}
			if err := e.HessianDiagonal(diagonal, theta); err != nil {
				t.Fatal(err)
			}
			want, own := make([]float64, 0, len(got)), make([]float64, d)
			for i := range d {
				want = append(want, gradientDifference(t, e, theta, i)[:i+1]...)
				own[i] = got[i*(i+3)/2]
			}
			if gap := distance(got, want); gap > 1e-7 {
				t.Errorf("the Hessian is %v, differences of gradients give %v (distance %g)", got, want, gap)
			}
			if gap := distance(diagonal, own); gap > 1e-12 {
				t.Errorf("the diagonal is %v, not %v", diagonal, own)
			}
		})
	}
}

// gradientDifference computes row i of the Hessian by a central difference of the gradient.
func gradientDifference(t *testing.T, e Evaluator, theta []float64, i int) []float64 {
	t.Helper()
	const h = 1e-5
	at := func(x float64) []float64 {
		moved := slices.Clone(theta)
		moved[i] += x
		g, _ := sumOf(t, e, &Query{Draws: [][]float64{moved}, Clip: math.Inf(1)})
		return g
	}
	row, below := at(h), at(-h)
	for j := range row {
		row[j] = (row[j] - below[j]) / (2 * h)
	}
	return row
}
