package onestep

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Size returns the number of elements of a packed symmetric d×d matrix.
func Size(d int) int { return d * (d + 1) / 2 }

// A packed matrix has the lower triangle of a symmetric matrix by rows, multiplied by √2 off the
// diagonal, so that its L2 norm is the Frobenius norm. Independent noise of sd σ on the packed
// elements is noise of sd σ on the diagonal and σ/√2 elsewhere. Its distribution is the same in
// every orthonormal basis.

// AddOuter adds w·(u vᵀ + v uᵀ)/2 to the packed matrix dst. u and v are sparse vectors with
// increasing indices.
func AddOuter(dst []float64, w float64, indexU []int32, u []float64, indexV []int32, v []float64) {
	for n, i := range indexU {
		for m, j := range indexV {
			x := w * u[n] * v[m]
			switch {
			case i == j:
				dst[at(int(i), int(i))] += x
			case i > j:
				dst[at(int(i), int(j))] += x / math.Sqrt2
			default:
				dst[at(int(j), int(i))] += x / math.Sqrt2
			}
		}
	}
}

// at returns the index of element (i, j), j ≤ i, in a packed matrix.
func at(i, j int) int { return i*(i+1)/2 + j }

// unpack returns the symmetric d×d matrix with the given packed form.
func unpack(packed []float64, d int) *mat.SymDense {
	m := mat.NewSymDense(d, nil)
	for i := range d {
		m.SetSym(i, i, packed[at(i, i)])
		for j := range i {
			m.SetSym(i, j, packed[at(i, j)]/math.Sqrt2)
		}
	}
	return m
}
