package packed

import (
	"math/bits"

	"fedpvi/crypto/sums/field"
)

// Block is the maximum number of words that Matrix.Apply processes at a time. The sums of so many
// words stay in the fastest memory of a processor.
const Block = 128

// A Matrix maps columns to columns of the same polynomials, word by word. It is public.
type Matrix [][]uint64

// Apply sets dst[r] to the sum over c of m[r][c]·src[c]. All columns must have the same length of
// at most Block words.
func (m Matrix) Apply(dst, src [][]uint64) {
	for r, row := range m {
		if signs(row) {
			addSigned(dst[r], row, src)
		} else {
			addProducts(dst[r], row, src)
		}
	}
}

// Sum returns the matrix that adds up columns of as many dealers.
func Sum(dealers int) Matrix {
	row := make([]uint64, dealers)
	for c := range row {
		row[c] = 1
	}
	return Matrix{row}
}

// signs reports whether all coefficients are 1 or −1, as they are if no client may be missing.
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
	for len(row) > 0 {
		some := min(len(row), together)
		addTerms(dst, row[:some], src)
		row, src = row[some:], src[some:]
	}
}

// together is the number of columns that addTerms adds at once. Loads and stores of the sums take
// most of its time.
const together = 3

var zeros [Block]uint64

// addTerms adds or subtracts up to together columns.
func addTerms(dst, row []uint64, src [][]uint64) {
	n := len(dst)
	x, flip := [together][]uint64{zeros[:n], zeros[:n], zeros[:n]}, [together]uint64{}
	for c, k := range row {
		x[c] = src[c][:n]
		if k != 1 {
			flip[c] = field.P // all bits of P are 1, so x ^ P = P − x
		}
	}
	x0, x1, x2 := x[0][:n], x[1][:n], x[2][:n]
	f0, f1, f2 := flip[0], flip[1], flip[2]
	for i, sum := range dst {
		dst[i] = field.Element(sum + (x0[i] ^ f0) + (x1[i] ^ f1) + (x2[i] ^ f2))
	}
}

// lazy is the number of products that fit beside a reduced sum in 128 bits: a product is at most
// (2⁶¹ − 2)², and 63 of them and one element are below 2¹²⁸. It is a multiple of 4.
const lazy = 60

func addProducts(dst, row []uint64, src [][]uint64) {
	var high [Block]uint64
	hi, lo := high[:len(dst)], dst
	clear(lo)
	for len(row) > 0 {
		some := min(len(row), lazy)
		c := 0
		for ; c+4 <= some; c += 4 {
			addFour(hi, lo, [4]uint64(row[c:c+4]), src[c:c+4])
		}
		for ; c < some; c++ {
			addOne(hi, lo, row[c], src[c])
		}
		for i := range dst {
			hi[i], lo[i] = 0, field.Reduce(hi[i], lo[i])
		}
		row, src = row[some:], src[some:]
	}
}

// addOne adds k·x to a sum of two words for each element.
func addOne(hi, lo []uint64, k uint64, x []uint64) {
	lo, x = lo[:len(hi)], x[:len(hi)]
	for i := range hi {
		h, l := bits.Mul64(k, x[i])
		var carry uint64
		lo[i], carry = bits.Add64(lo[i], l, 0)
		hi[i], _ = bits.Add64(hi[i], h, carry)
	}
}

// addFour adds four products at once, because loads and stores of the sums take most of the time
// of addOne.
func addFour(hi, lo []uint64, k [4]uint64, x [][]uint64) {
	n := len(hi)
	lo = lo[:n]
	x0, x1, x2, x3 := x[0][:n], x[1][:n], x[2][:n], x[3][:n]
	for i := range hi {
		h, l := hi[i], lo[i]
		var ph, pl, carry uint64
		ph, pl = bits.Mul64(k[0], x0[i])
		l, carry = bits.Add64(l, pl, 0)
		h, _ = bits.Add64(h, ph, carry)
		ph, pl = bits.Mul64(k[1], x1[i])
		l, carry = bits.Add64(l, pl, 0)
		h, _ = bits.Add64(h, ph, carry)
		ph, pl = bits.Mul64(k[2], x2[i])
		l, carry = bits.Add64(l, pl, 0)
		h, _ = bits.Add64(h, ph, carry)
		ph, pl = bits.Mul64(k[3], x3[i])
		l, carry = bits.Add64(l, pl, 0)
		h, _ = bits.Add64(h, ph, carry)
		hi[i], lo[i] = h, l
	}
}
