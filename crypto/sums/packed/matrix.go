package packed

import (
	"math/bits"

	"fedpvi/crypto/sums/field"
)

// Block is how many words of a column [Matrix.Apply] processes at a time, at most. They fit into a
// processor's fastest cache.
const Block = 128

// A Matrix computes new columns from given ones. Each word is a linear combination of the given
// columns' words, with public coefficients.
type Matrix [][]uint64

// Apply sets dst[r] to the sum of m[r][c]·src[c] over all c. All columns must have the same length,
// which is at most Block.
func (m Matrix) Apply(dst, src [][]uint64) {
	var all [Block]uint64
	var crossed []uint64 // F(0, src) (see addCrossed); computed when the first row needs it
	for r, row := range m {
		if signs(row) {
			addSigned(dst[r], row, src)
			continue
		}
		if crossed == nil {
			crossed = all[:len(src[0])]
			addCrossed(crossed, nil, src)
		}
		known, sum := cross(row), dst[r][:len(crossed)]
		for i, x := range crossed {
			sum[i] = 2*field.P - known - x
		}
		addCrossed(sum, row, src)
	}
}

// Sum returns a matrix with a single row, which adds up the dealers' columns.
func Sum(dealers int) Matrix {
	row := make([]uint64, dealers)
	for c := range row {
		row[c] = 1
	}
	return Matrix{row}
}

// signs reports whether all coefficients of a row are 1 or −1. They are for a sum, and if no client
// may be missing.
func signs(row []uint64) bool {
	for _, k := range row {
		if k != 1 && k != field.P-1 {
			return false
		}
	}
	return true
}

func addSigned(dst, row []uint64, src [][]uint64) {
	clear(dst)
	for c := 0; c < len(row); c += 4 {
		var flip [4]uint64
		for i, k := range row[c:min(c+4, len(row))] {
			if k != 1 {
				flip[i] = field.P // all 61 bits of P are 1, so x ^ P = P − x
			}
		}
		addFour(dst, flip, pad(src[c:], len(dst)))
	}
}

func pad(src [][]uint64, words int) (x [8][]uint64) {
	for c := copy(x[:], src); c < len(x); c++ {
		x[c] = zeros[:words]
	}
	return x
}

var zeros [Block]uint64

// addFour adds the first four columns of x to dst. A column whose flip is P is subtracted instead.
// Most of the time goes into loads and stores, so addFour processes four columns at once.
func addFour(dst []uint64, flip [4]uint64, x [8][]uint64) {
	n := len(dst)
	x0, x1, x2, x3 := x[0][:n], x[1][:n], x[2][:n], x[3][:n]
	f0, f1, f2, f3 := flip[0], flip[1], flip[2], flip[3]
	for i, sum := range dst {
		dst[i] = field.Element(sum + (x0[i] ^ f0) + (x1[i] ^ f1) + (x2[i] ^ f2) + (x3[i] ^ f3))
	}
}

// Let F(k, x) be the sum over all even c of (x[c] + k[c+1])·(x[c+1] + k[c]). Then
//
//	Σ_c k[c]·x[c] = F(k, x) − F(k, 0) − F(0, x).
//
// F(0, x) is the same for all rows k of a matrix and is computed only once, so that a row needs
// only half as many multiplications (S. Winograd, A New Algorithm for Inner Product, IEEE
// Transactions on Computers C-17, 1968, pages 693 and 694).

// cross returns F(k, 0).
func cross(k []uint64) (sum uint64) {
	for c := 1; c < len(k); c += 2 {
		sum = field.Add(sum, field.Mul(k[c-1], k[c]))
	}
	return sum
}

// addCrossed adds F(k, src) to dst, whose numbers may be P or larger. If k is nil, it counts as all
// zeros.
func addCrossed(dst, k []uint64, src [][]uint64) {
	for c := 0; c < len(src); c += 8 {
		var some [8]uint64
		copy(some[:], k[min(c, len(k)):])
		addEight(dst, some, pad(src[c:], len(dst)))
	}
}

// addEight adds the terms of F(k, x) for eight columns to dst. These are four products below 2¹²⁴,
// so their sum fits into two words.
func addEight(dst []uint64, k [8]uint64, x [8][]uint64) {
	n := len(dst)
	x0, x1, x2, x3 := x[0][:n], x[1][:n], x[2][:n], x[3][:n]
	x4, x5, x6, x7 := x[4][:n], x[5][:n], x[6][:n], x[7][:n]
	for i, low := range dst {
		high, low := addProduct(0, low, x0[i]+k[1], x1[i]+k[0])
		high, low = addProduct(high, low, x2[i]+k[3], x3[i]+k[2])
		high, low = addProduct(high, low, x4[i]+k[5], x5[i]+k[4])
		high, low = addProduct(high, low, x6[i]+k[7], x7[i]+k[6])
		dst[i] = field.Reduce(high, low)
	}
}

// addProduct returns high·2⁶⁴ + low + a·b as two words.
func addProduct(high, low, a, b uint64) (uint64, uint64) {
	h, l := bits.Mul64(a, b)
	low, carry := bits.Add64(low, l, 0)
	high, _ = bits.Add64(high, h, carry)
	return high, low
}
