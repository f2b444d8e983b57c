package onestep

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// A sandwich computes the covariance of the error after a Newton step. The symbols are:
//
//   - H is the true curvature plus the prior's precision.
//   - A is the matrix by which the step multiplies the gradient, an estimate of H⁻¹.
//   - e is the error of the point from which the step begins.
//   - s is the privacy noise plus the sampling error in the gradient.
//
// The error after the step is
//
//	(I − AH)e + As.
//
// In directions in which noise hides the curvature, A differs from H⁻¹. The step then removes only
// a part of e, or overshoots.
type sandwich struct {
	of      *Evidence
	step    *mat.SymDense // A, the inverse that the step uses
	point   *mat.SymDense // covariance of the point's error e
	eigen   mat.EigenSym
	values  []float64
	vectors mat.Dense

	bread            *mat.SymDense // H, or H plus the variance of the gradient's noise
	left, half, both *mat.Dense
}

func newSandwich(e *Evidence, step, curvature *mat.SymDense) (*sandwich, error) {
	d := len(e.Point)
	s := &sandwich{
		of: e, step: mat.NewSymDense(d, nil), point: mat.NewSymDense(d, nil), values: make([]float64, d),
		bread: mat.NewSymDense(d, nil),
		left:  mat.NewDense(d, d, nil), half: mat.NewDense(d, d, nil), both: mat.NewDense(d, d, nil),
	}
	s.step.CopySym(step)
	return s, s.locate(curvature)
}

// locate computes the covariance V₁ of the error of the point from which the step begins. It was
// computed from gradients with noise of sd τ₁, so in a direction with curvature h it is known with
// the precision
//
//	h²/(h + τ₁²)
//
// plus the precision of the prior. A curvature below the sd of its noise is replaced by this sd.
func (s *sandwich) locate(curvature *mat.SymDense) error {
	if err := s.split(curvature); err != nil {
		return err
	}
	for k, h := range s.values {
		if h = max(h, s.of.CurvatureSD); h > 0 {
			s.point.SymRankOne(s.point, h*(h/(h+s.of.PointSD*s.of.PointSD)), s.vectors.ColView(k))
		}
	}
	for i, p := range s.of.PriorPrecision {
		s.point.SetSym(i, i, s.point.At(i, i)+p)
	}
	return invert(s.point, s.point, new(mat.Cholesky))
}

func (s *sandwich) split(curvature *mat.SymDense) error {
	if !s.eigen.Factorize(curvature, true) {
		return errors.New("one-step: the eigenvalues of the curvature cannot be computed")
	}
	s.eigen.Values(s.values)
	s.eigen.VectorsTo(&s.vectors)
	return nil
}

// add adds to cov the covariance of the error after the step for one draw of the curvature, times
// weight:
//
//	weight·[(I − AH)V(I − AH)ᵀ + A(H + τ²I)A]
//
// H is curvature, with 0 in place of negative eigenvalues, plus the prior's precision. V is the
// covariance of the error of the point.
func (s *sandwich) add(cov, curvature *mat.SymDense, weight float64) error {
	if err := s.split(curvature); err != nil {
		return err
	}
	d := len(s.values)
	s.bread.Zero()
	for k, h := range s.values {
		s.bread.SymRankOne(s.bread, max(h, 0), s.vectors.ColView(k))
	}
	for i, p := range s.of.PriorPrecision {
		s.bread.SetSym(i, i, s.bread.At(i, i)+p)
	}
	s.left.Mul(s.step, s.bread)
	for i := range d {
		for j := range d {
			s.left.Set(i, j, -s.left.At(i, j))
		}
		s.left.Set(i, i, 1+s.left.At(i, i))
	}
	s.half.Mul(s.left, s.point)
	s.both.Mul(s.half, s.left.T())
	s.spread(cov, weight)
	for i := range d {
		s.bread.SetSym(i, i, s.bread.At(i, i)+s.of.GradientSD*s.of.GradientSD)
	}
	s.half.Mul(s.step, s.bread)
	s.both.Mul(s.half, s.step)
	s.spread(cov, weight)
	return nil
}

func (s *sandwich) spread(cov *mat.SymDense, weight float64) {
	for i := range s.values {
		for j := range i + 1 {
			cov.SetSym(i, j, cov.At(i, j)+weight*s.both.At(i, j))
		}
	}
}
