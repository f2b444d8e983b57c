package hierarchy

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// [Region.climbed] works in coordinates x: a point is the mean of the region from which the search
// starts, plus its Cholesky root times x.
const (
	mostClimbs   = 40
	climbStep    = 1e-3 // step of the finite differences
	leastBend    = 0.1  // least eigenvalue of the negative Hessian
	leastGain    = 1e-3 // rise of the log density below which the search ends
	mostHalvings = 40
)

// climbed returns a region around the mode of a log density, which Newton's method with finite
// differences finds from the mean of r. Its covariance is the inverse of the negative Hessian, with
// eigenvalues of at least leastBend, times the square of the ratio of [wider].
func (r Region) climbed(log func(z []float64) (float64, error)) Region {
	n := len(r.mean)
	at := func(x []float64) float64 {
		z := r.at(x)
		l, err := log(z)
		if err != nil || math.IsNaN(l) {
			return math.Inf(-1)
		}
		return l
	}
	x := make([]float64, n)
	value := at(x)
	var eigen mat.EigenSym
	var vectors mat.Dense
	var bends []float64
	for range mostClimbs {
		gradient, hessian := differences(at, x, value)
		if !eigen.Factorize(hessian, true) {
			return r
		}
		eigen.VectorsTo(&vectors)
		bends = eigen.Values(nil)
		step := make([]float64, n)
		for k, e := range bends {
			bends[k] = max(-e, leastBend)
			along := mat.Dot(vectors.ColView(k), mat.NewVecDense(n, gradient)) / bends[k]
			for i := range step {
				step[i] += along * vectors.At(i, k)
			}
		}
		next, gain := x, 0.0
		for range mostHalvings {
			moved := make([]float64, n)
			for i := range moved {
				moved[i] = x[i] + step[i]
				step[i] /= 2
			}
			if to := at(moved); to > value {
				next, gain, value = moved, to-value, to
				break
			}
		}
		if x = next; !(gain >= leastGain) {
			break
		}
	}
	cov := mat.NewSymDense(n, nil)
	root := mat.NewDense(n, n, nil)
	for i, row := range r.root {
		root.SetRow(i, row)
	}
	by := wider(n)
	for k, e := range bends {
		var direction mat.VecDense
		direction.MulVec(root, vectors.ColView(k))
		cov.SymRankOne(cov, by*by/e, &direction)
	}
	next := Region{mean: r.at(x), sites: r.sites}
	if !next.setRoot(cov) {
		return r
	}
	return next
}

// differences computes gradient and Hessian of f at x by finite differences. value is f(x).
func differences(f func(x []float64) float64, x []float64, value float64) (gradient []float64, hessian *mat.SymDense) {
	n := len(x)
	gradient, hessian = make([]float64, n), mat.NewSymDense(n, nil)
	moved := func(i, j int, by float64) float64 {
		y := append([]float64(nil), x...)
		y[i] += by
		if j != i {
			y[j] += by
		}
		return f(y)
	}
	const h = climbStep
	up, down := make([]float64, n), make([]float64, n)
	for i := range n {
		up[i], down[i] = moved(i, i, h), moved(i, i, -h)
		gradient[i] = (up[i] - down[i]) / (2 * h)
		hessian.SetSym(i, i, (up[i]-2*value+down[i])/(h*h))
		for j := range i {
			both := (moved(i, j, h) + moved(i, j, -h) - up[i] - down[i] - up[j] - down[j] + 2*value) / (2 * h * h)
			hessian.SetSym(i, j, both)
		}
	}
	for i, g := range gradient {
		if math.IsNaN(g) || math.IsInf(g, 0) {
			gradient[i] = 0
		}
		for j := range i + 1 {
			if v := hessian.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				hessian.SetSym(i, j, 0)
			}
		}
	}
	return gradient, hessian
}
