package quadrature

import (
	"math"
	"testing"
)

// The test checks that a product rule is exact for polynomials, and that quasi-random points
// give exact variances.
func TestRules(t *testing.T) {
	for dim := 1; dim <= 9; dim++ {
		r := New(dim)
		tolerance := 1e-10
		if math.Pow(3, float64(dim)) > mostNodes {
			tolerance = .1
		}
		var total float64
		moments := make([]float64, 3)
		for n, w := range r.Weights {
			z := r.Points[n*dim : (n+1)*dim]
			total += w
			moments[0] += w * z[dim-1]
			moments[1] += w * z[0] * z[0]
			moments[2] += w * z[0] * z[0] * z[dim-1] * z[dim-1]
		}
		want := []float64{0, 1, 1}
		if dim == 1 {
			want[2] = 3
		}
		if math.Abs(total-1) > 1e-12 {
			t.Errorf("%d dimensions: weights add up to %g", dim, total)
		}
		for i, m := range moments {
			if math.Abs(m-want[i]) > tolerance {
				t.Errorf("%d dimensions: moment %d is %g, want %g", dim, i, m, want[i])
			}
		}
	}
}
