package math32

import "math"

// This is the size of the tiles in which matrix products are computed.
const (
	TileRows    = 6
	TileColumns = 16
)

// Tiles returns the number of tiles of the given size that cover n rows or columns.
func Tiles(n, size int) int { return (n + size - 1) / size }

// Padded returns n rounded up to a multiple of size.
func Padded(n, size int) int { return Tiles(n, size) * size }

// SumError returns a bound on ‖computed − exact‖₂ for a sum of n vectors of norm at most 1, whose
// elements are products of two numbers. The terms may be added in any order, with or without fused
// operations. No product and no sum may underflow.
//
// An element of the sum goes through at most n roundings, each by a factor of 1 ± 2⁻²⁴. This also
// holds if parts of the sum are added separately, as on a graphics card
// (gpu/cuda/kernel/product.h): a term in a part of k terms is rounded at most k times there, and
// once for every other part that has a term, which are at most n − k. Adding zero causes no
// rounding. The error of an element is therefore at most γ·Σ|terms| (Higham, "Accuracy and
// Stability of Numerical Algorithms", 2002, section 3.1), where
//
//	γ = n·2⁻²⁴/(1 − n·2⁻²⁴)
//
// The norm of the vector of Σ|terms| is at most n.
func SumError(n int) float64 {
	nu := float64(n) * 0x1p-24
	if !(nu < 0.5) {
		return math.Inf(1)
	}
	// products below the smallest normal number have errors of at most 2^-149
	return nu/(1-nu)*float64(n)*(1+0x1p-40) + 0x1p-100
}

// tilePlain is like tile, but uses no vector instructions.
func tilePlain(dst []float32, stride int, a []float32, row, step int, b []float32, k int, add bool) {
	var sum [TileRows][TileColumns]float32
	for i := range k {
		terms := (*[TileColumns]float32)(b[i*TileColumns:])
		for r := range TileRows {
			f := a[r*row+i*step]
			for j, t := range terms {
				sum[r][j] += f * t
			}
		}
	}
	for r := range TileRows {
		out := (*[TileColumns]float32)(dst[r*stride:])
		for j, s := range sum[r] {
			if add {
				s += out[j]
			}
			out[j] = s
		}
	}
}
