package onestep

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Size returns the number of elements of a packed symmetric d×d matrix.
func Size(d int) int { return d * (d + 1) / 2 }

// A packed matrix has the lower triangle by rows, elements off the diagonal times √2:
// its L2 norm is the Frobenius norm of the matrix. Equal noise on its elements has
// sd σ on the diagonal and σ/√2 beside it, and the same law in every basis.

// AddOuter adds to the packed matrix dst w·(u vᵀ + v uᵀ)/2, where u and v are sparse
// with increasing indices; w·u uᵀ if they are the same.
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

// at returns the place of element (i, j), j ≤ i.
func at(i, j int) int { return i*(i+1)/2 + j }

// unpack returns the symmetric matrix that packed stands for.
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
