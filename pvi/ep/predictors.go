package ep

import (
	"math"

	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
	"fedpvi/pvi/solver"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A tilts is a [tilt] for a record with k predictors η = mean + Rz, where RRᵀ is their covariance
// and R is lower triangular. It computes the mean and covariance of z under the density
// proportional to N(z; 0, I)·p(y | η)^power. It is not safe for concurrent use.
type tilts struct {
	response solver.Response
	power    float64
	rule     *quadrature.Rule

	mode, try, slope []float64 // mode, trial point and gradient in z
	bend             []float64 // minus the Hessian in z; later, its lower Cholesky factor
	logs             []float64
	points           []float64

	first  []float64 // tilted mean of z
	second []float64 // tilted covariance of z, by rows
	eta    []float64
	g, h   []float64
}

func newTilts(r solver.Response, power float64) *tilts {
	k := r.Size()
	rule := quadrature.New(k)
	v := func(n int) []float64 { return make([]float64, n) }
	return &tilts{
		response: r, power: power, rule: rule,
		mode: v(k), try: v(k), slope: v(k), bend: v(k * k), logs: v(len(rule.Weights)), points: v(len(rule.Points)),
		first: v(k), second: v(k * k), eta: v(k), g: v(k), h: v(k * k),
	}
}

// log returns the tilted log density at z, up to a constant. root is R by rows. It sets t.g and t.h
// to the gradient and the Hessian of the log likelihood in η.
func (t *tilts) log(y float64, z, mean, root []float64) float64 {
	k := len(z)
	var squares float64
	for a := range k {
		eta := mean[a]
		for b, x := range z[:a+1] {
			eta += root[a*k+b] * x
		}
		t.eta[a] = eta
		squares += z[a] * z[a]
	}
	return t.power*t.response.Eval(y, t.eta, t.g, t.h) - squares/2
}

// match sets t.first and t.second to the tilted mean and covariance of z. It returns false if they
// are not finite.
func (t *tilts) match(y float64, mean, root []float64) bool {
	if !t.climb(y, mean, root) {
		return false
	}
	k := len(mean)
	largest := math.Inf(-1)
	for n := range t.logs {
		u, z := t.rule.Points[n*k:(n+1)*k], t.points[n*k:(n+1)*k]
		copy(z, u)
		t.back(z)
		var squares float64
		for a := range z {
			z[a] += t.mode[a]
			squares += u[a] * u[a]
		}
		t.logs[n] = t.log(y, z, mean, root) + squares/2
		largest = math.Max(largest, t.logs[n])
	}
	var total float64
	clear(t.first)
	for n, w := range t.rule.Weights {
		w *= math.Exp(t.logs[n] - largest)
		t.logs[n] = w
		total += w
		for a := range k {
			t.first[a] += w * t.points[n*k+a]
		}
	}
	for a := range t.first {
		t.first[a] /= total
	}
	t.spread(total)
	return special.Finite(t.first) && special.Finite(t.second)
}

// spread stores the tilted covariance of z in t.second. The weights of the points are in t.logs,
// and total is their sum.
func (t *tilts) spread(total float64) {
	k := len(t.first)
	clear(t.second)
	for n, w := range t.logs {
		z := t.points[n*k : (n+1)*k]
		for a := range k {
			for b := range a + 1 {
				t.second[a*k+b] += w / total * (z[a] - t.first[a]) * (z[b] - t.first[b])
			}
		}
	}
	for a := range k {
		for b := range a {
			t.second[b*k+a] = t.second[a*k+b]
		}
	}
}

// climb finds the mode of the tilted density by Newton's method, and sets bend to the lower
// Cholesky factor of minus the Hessian there, or of the identity if that is not positive definite.
// It returns false if numbers overflow.
func (t *tilts) climb(y float64, mean, root []float64) bool {
	const steps, halvings, close = 40, 20, 1e-7
	clear(t.mode)
	at := t.log(y, t.mode, mean, root)
	for range steps {
		if !t.curve(root) {
			return false
		}
		copy(t.try, t.slope)
		t.forth(t.try)
		var rise float64
		for _, x := range t.try {
			rise += x * x
		}
		if !(rise > close*close) {
			return rise >= 0 // false for NaN
		}
		t.back(t.try)
		copy(t.slope, t.try) // slope becomes the whole Newton step
		share, next := 1.0, math.Inf(-1)
		for range halvings {
			for a, x := range t.slope {
				t.try[a] = t.mode[a] + share*x
			}
			if next = t.log(y, t.try, mean, root); next >= at {
				break
			}
			share /= 2
		}
		if !(next >= at) {
			t.log(y, t.mode, mean, root)
			return t.curve(root)
		}
		copy(t.mode, t.try)
		at = next
	}
	return t.curve(root)
}

// curve prepares a Newton step at the point of the last call to log. It sets slope to the gradient
// of the log density in z, and bend to the lower Cholesky factor of minus the Hessian, or of the
// identity if that is not positive definite.
func (t *tilts) curve(root []float64) bool {
	k := len(t.mode)
	for a := range k {
		t.slope[a] = -t.mode[a]
		for b := a; b < k; b++ {
			t.slope[a] += t.power * root[b*k+a] * t.g[b]
		}
	}
	for whole := range 2 {
		for a := range k {
			for b := range a + 1 {
				var sum float64
				for c := a; c < k && whole == 0; c++ {
					for e := b; e < k; e++ {
						sum -= root[c*k+a] * t.h[c*k+e] * root[e*k+b]
					}
				}
				t.bend[a*k+b] = t.power * sum
			}
			t.bend[a*k+a]++
		}
		if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: k, Stride: k, Data: t.bend}); ok {
			return special.Finite(t.slope)
		}
	}
	return false
}

// forth replaces x by L⁻¹x, and back by L⁻ᵀx, where L is in bend.
func (t *tilts) forth(x []float64) { t.solve(blas.NoTrans, x) }
func (t *tilts) back(x []float64)  { t.solve(blas.Trans, x) }

func (t *tilts) solve(how blas.Transpose, x []float64) {
	k := len(x)
	blas64.Trsv(how, blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: k, Stride: k, Data: t.bend}, blas64.Vector{N: k, Data: x, Inc: 1})
}
