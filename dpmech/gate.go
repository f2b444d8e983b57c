package dpmech

import (
	"math"
	"math/bits"
)

// A gate bounds the contribution of one vector to an integer sum. It scales the vector to lattice
// steps, clips it to an L2 norm of clip steps, truncates it toward zero, and adds it to the sum.
//
// The contribution depends on the vector alone. Despite rounding errors, the norm of its integers
// is never above clip. The factor that shortens the vector is computed in floating point. For most
// vectors there is a proof that the total rounding error is less than the margin of the factor
// ([gate.add]). For all other vectors the gate computes the integer norm without rounding and
// compares it with clip.
type gate struct {
	perStep          float64 // 1/step for the lattice step, a power of two
	clip             float64 // the clip in lattice steps, rounded down; an integer in [1, 2^maxClipBits]
	squared          float64 // (clip·step)², the bound on the squared norm, rounded
	within           float64 // squared minus a margin for rounding errors
	length           float64 // clip·step minus a margin for rounding errors
	sizeBits         int     // number of bits of clip
	reach            uint64  // 2^sizeBits, which is larger than clip but at most twice as large
	block            int     // number of elements in a block, such that the sum of their squares fits in 64 bits if they are in [−reach, reach)
	limitHi, limitLo uint64  // clip² as a 128-bit number, in two halves
}

// maxClipBits bounds the clip in steps, so that 128 bits can hold the sum of the squares of
// maxDim elements below 2^(maxClipBits+1).
const maxClipBits = 34

// maxDim is the largest dimension. For this dimension a squared norm is computed by a chain of at
// most maxDim/4 additions, with a relative error of 2^-53 each. The total rounding error is smaller
// than the amount by which one iteration of the loop in addChecked shortens a vector.
const maxDim = 1 << 31

func newGate(lattice Lattice, clip int64) gate {
	c := float64(clip)
	hi, lo := bits.Mul64(uint64(clip), uint64(clip))
	size := bits.Len64(uint64(clip))
	return gate{
		perStep:  1 / lattice.Step(),
		clip:     c,
		squared:  c * lattice.Step() * (c * lattice.Step()),
		within:   c * lattice.Step() * (c * lattice.Step()) * (1 - 0x1p-38),
		length:   c * lattice.Step() * (1 - 0x1p-40),
		sizeBits: size,
		reach:    1 << size,
		block:    1 << max(0, 63-2*size),
		limitHi:  hi,
		limitLo:  lo,
	}
}

// provenDim is the largest dimension for which the proof of [gate.add] holds. Each of four partial
// sums adds a quarter of the squared elements, so the relative rounding error of a squared norm is
// below (2^12 + 8)·2^-53 < 2^-40.9. Squares below 2^-1022 lose more bits, but they are negligible
// compared with squared, which is at least 2^-800 (see maxExponent).
const provenDim = 1 << 14

// add adds the clipped and truncated v to sum, which has the length of v. A vector that is not
// finite adds zero.
//
// The integer norm, which is the norm of the integers that are added to sum, is at most clip, as
// the following shows. Let S be the exact squared norm of v and s the computed squared norm. In the
// first two cases of the switch, s is at least S·(1−2^-40.9). Truncation can only shorten a vector.
//
// In the first case each element is multiplied by a power of two. The product is exact unless it is
// below one step, where truncation makes it zero. The squared integer norm is at most
//
//	S/step² ≤ clip²·(1−2^-38)·(1+2^-40.8)·(1+2^-51) < clip².
//
// The second case requires a finite s. The factor is clip/√s·(1−2^-40) up to a relative error of
// 2^-51, and a product is rounded up by a relative error of at most 2^-53. The integer norm is at
// most
//
//	clip·(1−2^-40)·(1+2^-51)·(1+2^-53)·√(S/s) < clip
//
// because √(S/s) < 1 + 2^-41.8.
func (g *gate) add(sum []int64, v []float64) {
	ss := sumOfSquares(v)
	switch proven := len(v) <= provenDim; {
	case proven && ss <= g.within:
		addTruncated(sum, v, g.perStep)
	case proven && ss > g.squared && ss <= math.MaxFloat64:
		addTruncated(sum, v, g.shorten(ss))
	default:
		g.addChecked(sum, v)
	}
}

// addChecked is like [gate.add], but accepts a v of any length. It computes the norm of the
// integers that are added to sum. If this norm exceeds the clip, addChecked shortens v.
//
// The loop shortens v at most once. With four partial sums, the squared norm has a relative error
// below (maxDim/4+8)·2^-53 < 2^-23. The factor has a relative error below 2^-33 if it is subnormal,
// and otherwise below 2^-49. Truncation can only shorten a vector. The integer norm is therefore
// below clip·(1+2^-23) at first, and below clip·(1−2^-21) after the loop has shortened v.
func (g *gate) addChecked(sum []int64, v []float64) {
	factor, ok := g.factor(v)
	if !ok {
		return
	}
	for !g.tryAdd(sum, v, factor) {
		subtract(sum, v, factor)
		factor *= 1 - 0x1p-20
	}
}

// factor returns the number by which v is multiplied before it is truncated. This converts v to
// lattice steps. If v is longer than the bound, it also shortens v to the bound, up to rounding. If
// v is not finite, ok is false.
func (g *gate) factor(v []float64) (factor float64, ok bool) {
	ss := sumOfSquares(v)
	switch {
	case ss <= g.squared:
		return g.perStep, true
	case ss <= math.MaxFloat64:
		return g.shorten(ss), true
	default:
		return g.factorOfLong(v)
	}
}

// factorOfLong is like [gate.factor], for a v whose squared norm overflows. The norm of such a v is
// above 2^500, or v is not finite. To prevent the overflow, factorOfLong divides v by a number that
// is larger than any element. If an element becomes zero by this, it would have contributed less
// than one step.
func (g *gate) factorOfLong(v []float64) (factor float64, ok bool) {
	var largest float64
	for _, x := range v {
		largest = max(largest, math.Abs(x)) // if an element is NaN, max returns NaN
	}
	if !(largest <= math.MaxFloat64) {
		return 0, false
	}
	_, exp := math.Frexp(largest)
	unit := math.Ldexp(1, -exp)
	var ss float64
	for _, x := range v {
		x *= unit
		ss += float64(x * x)
	}
	return g.shorten(ss) * unit, true
}

// shorten returns a factor for a vector with the squared norm ss. It makes the norm, in lattice
// steps, just smaller than clip.
func (g *gate) shorten(ss float64) float64 {
	return g.clip / math.Sqrt(ss) * shrink
}

// tryAdd adds v·factor, truncated, to sum and reports whether the norm of the added integers is at
// most clip. If the norm is larger, [subtract] undoes the addition exactly, even if an element of
// sum overflowed.
//
// Let reach be 2^sizeBits. If an element is outside [−reach, reach), this element alone exceeds the
// bound, and the sums of squares are irrelevant. Otherwise no sum of squares overflows: a block of
// 2^(63−2·sizeBits) squares fits in 64 bits, and maxDim squares fit in 128 bits.
func (g *gate) tryAdd(sum []int64, v []float64, factor float64) bool {
	var hi, lo, carry, spread uint64
	if g.sizeBits > maxNarrowBits {
		hi, lo, spread = addWide(sum, v, factor, g.reach)
		return spread < 2*g.reach && g.fits(hi, lo)
	}
	for len(v) > g.block {
		squares, s := addNarrow(sum[:g.block], v[:g.block], factor, g.reach)
		lo, carry = bits.Add64(lo, squares, 0)
		hi += carry
		spread |= s
		sum, v = sum[g.block:], v[g.block:]
	}
	squares, s := addNarrow(sum, v, factor, g.reach)
	lo, carry = bits.Add64(lo, squares, 0)
	return spread|s < 2*g.reach && g.fits(hi+carry, lo)
}

// maxNarrowBits is the largest sizeBits for which squares are added in 64 bits. A block then
// contains at least 128 squares.
const maxNarrowBits = 28

// fits reports whether the norm of a vector is at most clip. The vector's sum of squares is the
// 128-bit number hi·2^64 + lo.
func (g *gate) fits(hi, lo uint64) bool {
	return hi < g.limitHi || hi == g.limitHi && lo <= g.limitLo
}

// addNarrow multiplies v by factor, truncates the products, and adds the resulting integers to sum.
// It returns the sum of the squares of these integers, modulo 2^64. spread is below 2·reach if and
// only if all of the integers are in [−reach, reach). reach must be a power of two.
func addNarrow(sum []int64, v []float64, factor float64, reach uint64) (squares, spread uint64) {
	for len(v) >= 4 && len(sum) >= 4 {
		k, l, m, n := int64(v[0]*factor), int64(v[1]*factor), int64(v[2]*factor), int64(v[3]*factor)
		sum[0] += k
		sum[1] += l
		sum[2] += m
		sum[3] += n
		spread |= (uint64(k) + reach) | (uint64(l) + reach) | (uint64(m) + reach) | (uint64(n) + reach)
		squares += uint64(k*k) + uint64(l*l) + uint64(m*m) + uint64(n*n)
		sum, v = sum[4:], v[4:]
	}
	sum = sum[:len(v)]
	for i, x := range v {
		n := int64(x * factor)
		sum[i] += n
		spread |= uint64(n) + reach
		squares += uint64(n * n)
	}
	return squares, spread
}

// addWide is like addNarrow, but returns the sum of squares modulo 2^128, as hi·2^64 + lo.
func addWide(sum []int64, v []float64, factor float64, reach uint64) (hi, lo, spread uint64) {
	var carry uint64
	sum = sum[:len(v)]
	for i, x := range v {
		n := int64(x * factor)
		sum[i] += n
		spread |= uint64(n) + reach
		size := uint64(max(n, -n))
		h, l := bits.Mul64(size, size)
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	return hi, lo, spread
}

// subtract subtracts the integers from sum that tryAdd has added for the same v and factor.
func subtract(sum []int64, v []float64, factor float64) {
	for i, x := range v {
		sum[i] -= int64(x * factor)
	}
}
