package quadrature

import (
	"math"
	"testing"
)

// A product rule must be exact for polynomials, and quasi-random points must give exact variances.
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

func TestRough(t *testing.T) {
	for dim := 1; dim <= 9; dim++ {
		r := Rough(dim)
		var total, square float64
		for n, w := range r.Weights {
			total += w
			square += w * r.Points[n*dim] * r.Points[n*dim]
		}
		if len(r.Weights) > 32 || math.Abs(total-1) > 1e-12 || math.Abs(square-1) > 1e-10 {
			t.Errorf("%d dimensions: %d points, weights add up to %g, squares to %g", dim, len(r.Weights), total, square)
		}
	}
}

// Short rules must integrate an exponential function as accurately as long ones.
func TestShort(t *testing.T) {
	for dim := 1; dim <= 2; dim++ {
		var means [2]float64
		for i, r := range []*Rule{New(dim), Short(dim)} {
			for n, w := range r.Weights {
				var sum float64
				for _, z := range r.Points[n*dim : (n+1)*dim] {
					sum += .2 * z / math.Sqrt(float64(dim))
				}
				means[i] += w * math.Exp(sum)
			}
		}
		want := math.Exp(.02)
		if math.Abs(means[0]-want) > 1e-13 || math.Abs(means[1]-want) > 1e-13 || 4*len(Short(dim).Weights) > len(New(dim).Weights) {
			t.Errorf("%d dimensions: means %v, want %v, with %d and %d points", dim, means, want, len(New(dim).Weights), len(Short(dim).Weights))
		}
	}
	if Short(3) != nil {
		t.Error("there is a short rule in three dimensions")
	}
}
