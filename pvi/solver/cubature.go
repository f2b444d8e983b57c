package solver

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// A cubature is a rule for expectations over a standard normal vector: points z_n
// with weights w_n.
type cubature struct {
	dim     int
	points  []float64 // by rows of dim
	weights []float64
}

// mostNodes bounds the points of a product rule, and of one of its axes.
const (
	mostNodes   = 250
	mostAlone   = 32 // in one dimension
	mostOfAxis  = 12 // in more
	quasiRandom = 512
)

// newCubature returns the product of Gauss–Hermite rules while it is small, which
// is exact for polynomials of degree 2n − 1 in every coordinate; in more dimensions
// quasi-random points of equal weight.
func newCubature(dim int) *cubature {
	n := int(math.Pow(mostNodes, 1/float64(dim)) + 1e-9)
	if n < 3 {
		return newQuasiRandom(dim, quasiRandom)
	}
	n = min(n, mostOfAxis)
	if dim == 1 {
		n = mostAlone
	}
	x, w := make([]float64, n), make([]float64, n)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	c := &cubature{dim: dim, points: nil, weights: []float64{1}}
	for range dim {
		next := &cubature{dim: c.dim}
		width := 0
		if len(c.weights) > 0 {
			width = len(c.points) / len(c.weights)
		}
		for i, weight := range c.weights {
			for j := range x {
				next.points = append(next.points, c.points[i*width:(i+1)*width]...)
				next.points = append(next.points, math.Sqrt2*x[j])
				next.weights = append(next.weights, weight*w[j]/math.Sqrt(math.Pi))
			}
		}
		c = next
	}
	return c
}

// newQuasiRandom returns n points in pairs z, −z of a Kronecker sequence mapped by
// the normal quantile, scaled so that every coordinate has variance one (Roberts,
// "The unreasonable effectiveness of quasirandom sequences", 2018).
func newQuasiRandom(dim, n int) *cubature {
	// The positive root of x^(dim+1) = x + 1.
	root := 2.0
	for range 60 {
		root = math.Pow(1+root, 1/float64(dim+1))
	}
	c := &cubature{dim: dim, points: make([]float64, n*dim), weights: make([]float64, n)}
	half := n / 2
	for j := range dim {
		step := math.Mod(math.Pow(1/root, float64(j+1)), 1)
		var squares float64
		for i := range half {
			u := math.Mod(0.5+step*float64(i+1), 1)
			z := math.Sqrt2 * math.Erfinv(2*u-1)
			c.points[i*dim+j], c.points[(half+i)*dim+j] = z, -z
			squares += z * z
		}
		scale := math.Sqrt(float64(half) / squares)
		for i := range n {
			c.points[i*dim+j] *= scale
		}
	}
	for i := range c.weights {
		c.weights[i] = 1 / float64(n)
	}
	return c
}

// point is the rule that looks at the mean alone.
func point(dim int) *cubature {
	return &cubature{dim: dim, points: make([]float64, dim), weights: []float64{1}}
}
