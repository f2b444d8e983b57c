package population

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Units are coordinates θ̃ = Rᵀθ in which the information of a synthetic record is the identity
// matrix. In the coordinates θ this information is RRᵀ, which is public. Units are immutable.
type Units struct {
	root, inverse *mat.Dense // R, the lower Cholesky factor of the information, and R⁻¹
}

// NewUnits returns the units for a synthetic record whose information in θ is given. It returns an
// error if the information is not positive definite.
func NewUnits(information mat.Symmetric) (*Units, error) {
	var c mat.Cholesky
	if !c.Factorize(information) {
		return nil, errors.New("the information of made-up records is not positive definite")
	}
	lower := new(mat.TriDense)
	c.LTo(lower)
	units := unitsOf(lower)
	if units == nil {
		return nil, errors.New("the information of made-up records is singular to working accuracy")
	}
	return units, nil
}

// unitsOf returns the units for the lower triangular matrix R. It returns nil if R is singular in
// floating-point arithmetic.
func unitsOf(lower *mat.TriDense) *Units {
	var inverse mat.TriDense
	if inverse.InverseTri(lower) != nil {
		return nil
	}
	return &Units{mat.DenseCopyOf(lower), mat.DenseCopyOf(&inverse)}
}

// public returns the public units themselves, for d coordinates.
func public(d int) *Units {
	unit := mat.DenseCopyOf(scaledUnit(d, 1))
	return &Units{unit, unit}
}

// To converts a point θ to public units θ̃.
func (u *Units) To(theta []float64) []float64 { return times(u.root.T(), theta) }

// From converts a point in public units to θ.
func (u *Units) From(public []float64) []float64 { return times(u.inverse.T(), public) }

// Gradient converts a gradient with respect to θ to public units.
func (u *Units) Gradient(g []float64) []float64 { return times(u.inverse, g) }

// Information converts an information matrix for θ to public units.
func (u *Units) Information(of mat.Symmetric) *mat.SymDense { return congruent(u.inverse, of) }

// Covariance converts a covariance in public units to one for θ.
func (u *Units) Covariance(of mat.Symmetric) *mat.SymDense { return congruent(u.inverse.T(), of) }

// in returns units that convert from the given units to u.
func (u *Units) in(given *Units) *Units {
	out := &Units{new(mat.Dense), new(mat.Dense)}
	out.root.Mul(given.inverse, u.root)
	out.inverse.Mul(u.inverse, given.root)
	return out
}

// sds returns the standard deviations of the coordinates of θ̃. Those of θ must be independent,
// with the given standard deviations.
func (u *Units) sds(theta []float64) []float64 {
	out := make([]float64, len(theta))
	for i := range out {
		for j, sd := range theta {
			out[i] = math.Hypot(out[i], u.root.At(j, i)*sd)
		}
	}
	return out
}

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
