package onestep

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// A sandwich says by how much a Newton step with a fixed inverse A misses where the curvature
// is H. With e the error of the point and s the noise and the chance in the gradient, the step
// leaves (I − A(H + P))e + As: along directions that the noise of the curvature hides it takes
// back a part of e only, or too much.
type sandwich struct {
	of      *Evidence
	step    *mat.SymDense // A
	eigen   mat.EigenSym
	values  []float64
	vectors mat.Dense
	chol    mat.Cholesky

	bread            *mat.SymDense // H + P, then with the gradient's noise
	error            *mat.SymDense // of the point: precision, then covariance
	left, half, both *mat.Dense
}

func newSandwich(e *Evidence, step *mat.SymDense) *sandwich {
	d := len(e.Point)
	s := &sandwich{
		of: e, step: mat.NewSymDense(d, nil), values: make([]float64, d),
		bread: mat.NewSymDense(d, nil), error: mat.NewSymDense(d, nil),
		left: mat.NewDense(d, d, nil), half: mat.NewDense(d, d, nil), both: mat.NewDense(d, d, nil),
	}
	s.step.CopySym(step)
	return s
}

// add adds weight·[(I − AH)E(I − AH)ᵀ + A(H + τ²I)A] to cov, for H the curvature, without what is
// negative of it, and the prior.
func (s *sandwich) add(cov, curvature *mat.SymDense, weight float64) error {
	if err := s.read(curvature); err != nil {
		return err
	}
	d := len(s.values)
	s.left.Mul(s.step, s.bread)
	for i := range d {
		for j := range d {
			s.left.Set(i, j, -s.left.At(i, j))
		}
		s.left.Set(i, i, 1+s.left.At(i, i))
	}
	s.half.Mul(s.left, s.error)
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

// spread adds weight·both to cov.
func (s *sandwich) spread(cov *mat.SymDense, weight float64) {
	for i := range s.values {
		for j := range i + 1 {
			cov.SetSym(i, j, cov.At(i, j)+weight*s.both.At(i, j))
		}
	}
}

// read sets bread and error. The point was found by gradients with noise of sd τ₁: along a
// direction with curvature h it is known with precision h²/(h + τ₁²), and by the prior.
func (s *sandwich) read(curvature *mat.SymDense) error {
	if !s.eigen.Factorize(curvature, true) {
		return errors.New("one-step: the eigenvalues of the curvature cannot be computed")
	}
	s.eigen.Values(s.values)
	s.eigen.VectorsTo(&s.vectors)
	s.bread.Zero()
	s.error.Zero()
	for k, h := range s.values {
		if h <= 0 {
			continue
		}
		along := s.vectors.ColView(k)
		s.bread.SymRankOne(s.bread, h, along)
		s.error.SymRankOne(s.error, h*(h/(h+s.of.PointSD*s.of.PointSD)), along)
	}
	for i, p := range s.of.PriorPrecision {
		s.bread.SetSym(i, i, s.bread.At(i, i)+p)
		s.error.SetSym(i, i, s.error.At(i, i)+p)
	}
	if !s.chol.Factorize(s.error) {
		return errors.New("one-step: the curvature leaves no proper posterior")
	}
	if err := s.chol.InverseTo(s.error); err != nil {
		return errors.New("one-step: the curvature is too close to singular: a prior with a smaller sd keeps it from that")
	}
	return nil
}
