package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func packedSize(d int) int { return d * (d + 1) / 2 }

// pack writes vec S to dst. This is the lower triangle, row by row, with elements off the diagonal
// multiplied by √2, so that the norm of vec S is the Frobenius norm of S.
func pack(dst []float64, s mat.Symmetric) {
	k := 0
	for i := range s.SymmetricDim() {
		for j := range i {
			dst[k] = math.Sqrt2 * s.At(i, j)
			k++
		}
		dst[k] = s.At(i, i)
		k++
	}
}

// unpack returns scale times the d×d matrix whose vec is v (see [pack]).
func unpack(d int, v []float64, scale float64) *mat.SymDense {
	s := mat.NewSymDense(d, nil)
	k := 0
	for i := range d {
		for j := range i {
			s.SetSym(i, j, scale*v[k]/math.Sqrt2)
			k++
		}
		s.SetSym(i, i, scale*v[k])
		k++
	}
	return s
}

func norm(s mat.Symmetric) float64 { return math.Sqrt(inner(s, s)) }

// inner returns tr(AB).
func inner(a, b mat.Symmetric) (sum float64) {
	for i := range a.SymmetricDim() {
		for j := range i {
			sum += 2 * a.At(i, j) * b.At(i, j)
		}
		sum += a.At(i, i) * b.At(i, i)
	}
	return sum
}

func scaledUnit(d int, x float64) *mat.SymDense {
	s := mat.NewSymDense(d, nil)
	for i := range d {
		s.SetSym(i, i, x)
	}
	return s
}

// plus returns A + xB.
func plus(a mat.Symmetric, x float64, b mat.Symmetric) *mat.SymDense {
	d := a.SymmetricDim()
	s := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			s.SetSym(i, j, a.At(i, j)+x*b.At(i, j))
		}
	}
	return s
}

// raised returns S with all eigenvalues raised to at least least. It returns false if the
// eigenvalues cannot be computed.
func raised(s *mat.SymDense, least float64) (*mat.SymDense, bool) {
	var e mat.EigenSym
	if !e.Factorize(s, true) {
		return nil, false
	}
	values := e.Values(nil)
	if values[0] >= least { // values are in increasing order
		return s, true
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	for i, x := range values {
		values[i] = math.Max(x, least)
	}
	return congruent(&vectors, mat.NewDiagDense(len(values), values)), true
}
