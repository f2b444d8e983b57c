package solver

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
)

// around returns the log of the integral of a function, divided by (2π)^(r/2) where r is the length
// of z, by a rule for a normal distribution near the function. The mean of this distribution is a
// mode of search, which approximates the function up to a factor. Its precision is the negative
// Hessian at the mode, with eigenvalues of at least 1. The search starts at z. f and search return
// logs of the functions at points. variation is the sd of the ratio of the function to the normal
// density, relative to its mean.
func around(z []float64, search, f func(points []float64) []float64, rule *quadrature.Rule) (log, variation float64) {
	r := len(z)
	mode, root, logRoot := summit(search, z)
	points := make([]float64, 0, len(rule.Points)+r)
	for n := range rule.Weights {
		points = append(points, mode...)
		for a := range r {
			points[n*r+a] += floats.Dot(root.RawRowView(a), rule.Points[n*r:(n+1)*r])
		}
	}
	logs := f(append(points, mode...))
	height, logs := logs[len(rule.Weights)], logs[:len(rule.Weights)]
	if math.IsInf(height, 1) {
		return height, 0
	}
	for n := range logs {
		u := rule.Points[n*r : (n+1)*r]
		logs[n] += logRoot + floats.Dot(u, u)/2
	}
	largest := slices.Max(logs)
	var mean, square float64
	for n, weight := range rule.Weights {
		ratio := math.Exp(logs[n] - largest)
		mean, square = mean+weight*ratio, square+weight*ratio*ratio
	}
	return largest + math.Log(mean), math.Sqrt(max(square/(mean*mean)-1, 0))
}

// summit searches for a mode of a function from the point z, by Newton's method with halved steps.
// It returns the mode, a root of the inverse of the precision, and the log of the determinant of
// this root. f returns logs of the function at points.
func summit(f func(points []float64) []float64, z []float64) (mode []float64, root *mat.Dense, logRoot float64) {
	r := len(z)
	for range mostSearched {
		var slope *mat.VecDense
		var height float64
		height, slope, root, logRoot = shape(f, z)
		var along, step mat.VecDense // the gradient in units of root, and the step
		along.MulVec(root.T(), slope)
		if step.MulVec(root, &along); !(mat.Dot(&along, &along) > searched) {
			break
		}
		var steps []float64
		for part := 1.0; part >= leastPart; part /= 2 {
			steps = append(steps, z...)
			floats.AddScaled(steps[len(steps)-r:], part, step.RawVector().Data)
		}
		k := slices.IndexFunc(f(steps), func(x float64) bool { return x > height })
		if k < 0 {
			break
		}
		z = steps[k*r : (k+1)*r]
	}
	return z, root, logRoot
}

// shape returns the log of a function at z, its gradient, and a root of the inverse of the precision
// with the log of its determinant.
func shape(f func(points []float64) []float64, z []float64) (height float64, slope *mat.VecDense, root *mat.Dense, logRoot float64) {
	r := len(z)
	points := slices.Clone(z)
	move := func(a, b int, by float64) {
		points = append(points, z...)
		points[len(points)-r+a] += by
		if b != a {
			points[len(points)-r+b] += by
		}
	}
	for a := range r {
		for b := range a + 1 {
			move(a, b, apart)
			move(a, b, -apart)
		}
	}
	logs := f(points)
	height, logs = logs[0], logs[1:]
	slope, root = mat.NewVecDense(r, nil), mat.NewDense(r, r, nil)
	precision := mat.NewSymDense(r, nil)
	for a := range r {
		for b := range a + 1 { // the second derivative along the sum of the axes, if they differ
			k := 2 * (a*(a+1)/2 + b)
			precision.SetSym(a, b, (2*height-logs[k]-logs[k+1])/(apart*apart))
			if a == b {
				slope.SetVec(a, (logs[k]-logs[k+1])/(2*apart))
			}
		}
	}
	for a := range r {
		for b := range a {
			precision.SetSym(a, b, (precision.At(a, b)-precision.At(a, a)-precision.At(b, b))/2)
		}
		root.Set(a, a, 1)
	}
	var eigen mat.EigenSym
	if !special.Finite(precision.RawSymmetric().Data) || !eigen.Factorize(precision, true) {
		return height, slope, root, 0
	}
	eigen.VectorsTo(root)
	for b, value := range eigen.Values(nil) {
		value = max(value, 1)
		logRoot -= math.Log(value) / 2
		for a := range r {
			root.Set(a, b, root.At(a, b)/math.Sqrt(value))
		}
	}
	return height, slope, root, logRoot
}
