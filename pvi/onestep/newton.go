package onestep

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// newton computes the Newton step from one point for different curvatures.
type newton struct {
	of       *Evidence
	least    float64       // lower bound on the eigenvalues of a curvature
	gradient *mat.VecDense // gradient of the log posterior
	eigen    mat.EigenSym
	values   []float64
	vectors  mat.Dense
	chol     mat.Cholesky
	full     *mat.SymDense // curvature plus the prior's precision
	inverse  *mat.SymDense
	square   *mat.Dense
	step     *mat.VecDense
}

func newNewton(e *Evidence) *newton {
	d := len(e.Point)
	n := &newton{
		of: e, least: leastCurvature * e.CurvatureSD,
		gradient: mat.NewVecDense(d, nil), values: make([]float64, d),
		full: mat.NewSymDense(d, nil), inverse: mat.NewSymDense(d, nil),
		square: mat.NewDense(d, d, nil), step: mat.NewVecDense(d, nil),
	}
	for i, g := range e.Gradient {
		n.gradient.SetVec(i, g+e.PriorPrecision[i]*(e.PriorMean[i]-e.Point[i]))
	}
	return n
}

// at computes the Newton step n.step for a curvature whose eigenvalues are raised to n.least.
// n.full is that curvature plus the prior's precision, and n.inverse its inverse.
func (n *newton) at(curvature *mat.SymDense) error {
	if !n.eigen.Factorize(curvature, true) {
		return errors.New("one-step: the eigenvalues of the curvature cannot be computed")
	}
	n.eigen.Values(n.values)
	n.full.CopySym(curvature)
	if n.values[0] < n.least {
		n.eigen.VectorsTo(&n.vectors)
		for k, value := range n.values {
			if value >= n.least {
				break // all later eigenvalues are larger
			}
			n.full.SymRankOne(n.full, n.least-value, n.vectors.ColView(k))
		}
	}
	for i, p := range n.of.PriorPrecision {
		n.full.SetSym(i, i, n.full.At(i, i)+p)
	}
	if err := invert(n.inverse, n.full, &n.chol); err != nil {
		return err
	}
	return n.chol.SolveVecTo(n.step, n.gradient)
}

// invert writes the inverse of a to dst and its Cholesky root to chol.
func invert(dst, a *mat.SymDense, chol *mat.Cholesky) error {
	if !chol.Factorize(a) {
		return errors.New("one-step: the curvature plus the prior's precision is not positive definite")
	}
	if err := chol.InverseTo(dst); err != nil {
		return errors.New("one-step: the curvature is too close to singular: a prior with a smaller sd avoids this")
	}
	return nil
}

// addSpread adds weight·(H⁻¹ + τ²H⁻²) to cov, where H is the curvature plus the prior's precision.
func (n *newton) addSpread(cov *mat.SymDense, weight float64) {
	noise := n.of.GradientSD * n.of.GradientSD
	n.square.Mul(n.inverse, n.inverse)
	for i := range n.values {
		for j := range i + 1 {
			cov.SetSym(i, j, cov.At(i, j)+weight*(n.inverse.At(i, j)+noise*n.square.At(i, j)))
		}
	}
}
