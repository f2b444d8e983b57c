package population

import (
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Units are coordinates θ̃ = Rᵀθ in which the public information matrix RRᵀ of a synthetic record
// becomes the identity. They are immutable.
type Units struct {
	root, inverse *mat.Dense // lower Cholesky root R of the information, and R⁻¹
}

// NewUnits returns the units for the given information of a synthetic record. It returns an error
// if that is not positive definite.
func NewUnits(information mat.Symmetric) (*Units, error) {
	var c mat.Cholesky
	if !c.Factorize(information) {
		return nil, errors.New("the information of made-up records is not positive definite")
	}
	var lower, inverse mat.TriDense
	c.LTo(&lower)
	if err := inverse.InverseTri(&lower); err != nil {
		return nil, errors.New("the information of made-up records is singular to working accuracy")
	}
	return &Units{mat.DenseCopyOf(&lower), mat.DenseCopyOf(&inverse)}, nil
}

// To converts a point θ to public units θ̃.
func (u *Units) To(theta []float64) []float64 { return times(u.root.T(), theta) }

// From converts a point in public units to θ.
func (u *Units) From(public []float64) []float64 { return times(u.inverse.T(), public) }

// Gradient converts a gradient in θ to a gradient in public units.
func (u *Units) Gradient(g []float64) []float64 { return times(u.inverse, g) }

// Information converts an information in θ to an information in public units.
func (u *Units) Information(of mat.Symmetric) *mat.SymDense { return congruent(u.inverse, of) }

// Covariance converts a covariance in public units to a covariance in θ.
func (u *Units) Covariance(of mat.Symmetric) *mat.SymDense { return congruent(u.inverse.T(), of) }

// times returns Ax.
func times(a mat.Matrix, x []float64) []float64 {
	y := mat.NewVecDense(len(x), nil)
	y.MulVec(a, mat.NewVecDense(len(x), slices.Clone(x)))
	return y.RawVector().Data
}

// congruent returns ASAᵀ.
func congruent(a mat.Matrix, s mat.Symmetric) *mat.SymDense {
	var half, whole mat.Dense
	half.Mul(a, s)
	whole.Mul(&half, a.T())
	return symmetric(&whole)
}

func symmetric(a *mat.Dense) *mat.SymDense {
	d, _ := a.Dims()
	s := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return s
}
