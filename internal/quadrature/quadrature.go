// Package quadrature provides rules that approximate expectations over a standard normal vector z.
// A rule has points z_n and weights w_n with E f(z) ≈ Σ w_n f(z_n).
package quadrature

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// A Rule is a set of points with weights that sum to 1.
type Rule struct {
	Points  []float64 // coordinates of the points, one point after the other
	Weights []float64
}

// These are the maximum numbers of points in rules that [New] returns.
const (
	mostNodes   = 256 // maximum number of points of a product rule
	mostAlone   = 32  // maximum number of points in one dimension
	mostOfAxis  = 12  // maximum number of points along each axis of a product rule
	quasiRandom = 512
)

// New returns a rule for vectors of dimension dim. If dim is small, it is a product of
// Gauss–Hermite rules with n points along each axis, which is exact for polynomials of degree up to
// 2n − 1 in every coordinate. Otherwise its points are quasi-random.
func New(dim int) *Rule {
	n := int(math.Pow(mostNodes, 1/float64(dim)) + 1e-9)
	if n < 3 {
		return QuasiRandom(dim, quasiRandom)
	}
	n = min(n, mostOfAxis)
	if dim == 1 {
		n = mostAlone
	}
	return Product(dim, n)
}

// These are the sizes of the rules that [Rough] returns.
const (
	roughOfAxis = 5  // points along each axis of a product rule
	roughRandom = 32 // points of a quasi-random rule
)

// Rough returns a rule with few points. For functions that are nearly quadratic within a few
// standard deviations, it is as accurate as [New]'s rule.
func Rough(dim int) *Rule {
	if dim > 2 {
		return QuasiRandom(dim, roughRandom)
	}
	return Product(dim, roughOfAxis)
}

// Short returns a rule with at most a quarter as many points as [New]'s. For functions that are
// smooth over a few standard deviations, it is as accurate. Short returns nil if dim is above 2,
// because short quasi-random rules are never as accurate.
func Short(dim int) *Rule {
	if dim > len(shortOfAxis) {
		return nil
	}
	return Product(dim, shortOfAxis[dim-1])
}

var shortOfAxis = [...]int{8, 6} // points along each axis of the rules of [Short], by dimension

// Product returns the product of dim Gauss–Hermite rules with n points each, one rule per axis.
func Product(dim, n int) *Rule {
	x, w := make([]float64, n), make([]float64, n)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	r := &Rule{Weights: []float64{1}}
	for width := range dim {
		next := new(Rule)
		for i, weight := range r.Weights {
			for j := range x {
				next.Points = append(next.Points, r.Points[i*width:(i+1)*width]...)
				next.Points = append(next.Points, math.Sqrt2*x[j])
				next.Weights = append(next.Weights, weight*w[j]/math.Sqrt(math.Pi))
			}
		}
		r = next
	}
	return r
}

// QuasiRandom returns a rule of n quasi-random points with equal weights. The points come in pairs
// z, −z. The points come from a Kronecker sequence (Roberts, "The unreasonable effectiveness of
// quasirandom sequences", 2018), transformed by the normal quantile function, and scaled so that
// every coordinate has variance one.
func QuasiRandom(dim, n int) *Rule {
	// root converges to the positive root of x^(dim+1) = x + 1.
	root := 2.0
	for range 60 {
		root = math.Pow(1+root, 1/float64(dim+1))
	}
	r := &Rule{Points: make([]float64, n*dim), Weights: make([]float64, n)}
	half := n / 2
	for j := range dim {
		step := math.Mod(math.Pow(1/root, float64(j+1)), 1)
		var squares float64
		for i := range half {
			u := math.Mod(0.5+step*float64(i+1), 1)
			z := math.Sqrt2 * math.Erfinv(2*u-1)
			r.Points[i*dim+j], r.Points[(half+i)*dim+j] = z, -z
			squares += z * z
		}
		scale := math.Sqrt(float64(half) / squares)
		for i := range n {
			r.Points[i*dim+j] *= scale
		}
	}
	for i := range r.Weights {
		r.Weights[i] = 1 / float64(n)
	}
	return r
}

// Point returns the rule whose only point is 0, the mean.
func Point(dim int) *Rule {
	return &Rule{Points: make([]float64, dim), Weights: []float64{1}}
}
