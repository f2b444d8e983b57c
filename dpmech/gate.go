package dpmech

import (
	"math"
	"math/bits"
)

// A gate bounds what one vector adds to an integer sum: scale to lattice steps,
// clip to an L2 norm of clip steps, truncate toward zero, add.
//
// What a vector adds is a function of that vector alone, and its integer norm,
// computed without rounding, is at most clip. Floats only choose the factor
// that brings it there.
type gate struct {
	perStep          float64 // 1/step, a power of two
	clip             float64 // ⌊C/step⌋, an integer in [1, 2^maxClipBits]
	squared          float64 // clip², rounded
	limitHi, limitLo uint64  // clip², exactly
}

// maxClipBits bounds the clip in steps, so that squares of elements up to
// twice as long can be summed in 128 bits: maxDim·2^(2·(maxClipBits+1)) < 2^128.
const maxClipBits = 34

// maxDim keeps the rounding of a squared norm, maxDim/4 additions of 2^-53,
// below what one shrink takes back.
const maxDim = 1 << 31

func newGate(lattice Lattice, clip int64) gate {
	c := float64(clip)
	hi, lo := bits.Mul64(uint64(clip), uint64(clip))
	return gate{perStep: 1 / lattice.Step(), clip: c, squared: c * c, limitHi: hi, limitLo: lo}
}

// add adds the clipped and truncated v to sum, which has the length of v. A
// vector that is not finite adds zero.
//
// The loop ends after one shrink at most. Summed in four lanes, the squared norm
// is computed with a relative error below (maxDim/4+8)·2^-53 < 2^-23, the
// factor with one below 2^-50, and truncation only shortens; so the integer
// norm is below clip·(1+2^-24+2^-49) at first, and below clip·(1−2^-21) after a
// shrink. Below 2^14 elements the margin of [gate.shorten] leaves none to do,
// except for a vector within rounding of the bound.
func (g *gate) add(sum []int64, v []float64) {
	unit, factor, finite := g.scale(v)
	if !finite {
		return
	}
	for !g.tryAdd(sum, v, unit, factor) {
		subtract(sum, v, unit, factor)
		factor *= 1 - 0x1p-20
	}
}

// scale returns a power of two and a factor: v·unit·factor is v in steps,
// clipped up to rounding. A vector within the bound keeps its length.
func (g *gate) scale(v []float64) (unit, factor float64, finite bool) {
	ss := sumOfSquares(v, g.perStep) // squares that vanish are far below one step
	if ss <= g.squared {
		return g.perStep, 1, true
	}
	if ss <= math.MaxFloat64 {
		return g.perStep, g.shorten(ss), true
	}
	// A square overflowed: v is longer than 2^500 steps, or not finite. In units
	// above its largest element nothing overflows, and what vanishes is far
	// below one step.
	var largest float64
	for _, x := range v {
		largest = max(largest, math.Abs(x)) // NaN if one is
	}
	if !(largest <= math.MaxFloat64) {
		return 0, 0, false
	}
	_, exp := math.Frexp(largest)
	unit = math.Ldexp(1, -exp)
	return unit, g.shorten(sumOfSquares(v, unit)), true
}

// shorten returns the factor from a squared norm to just below clip.
func (g *gate) shorten(ss float64) float64 {
	return g.clip / math.Sqrt(ss) * (1 - 0x1p-40)
}

// sumOfSquares returns Σ (x·unit)². Conversions forbid fused operations, so
// that machines agree.
func sumOfSquares(v []float64, unit float64) float64 {
	var a, b, c, d float64
	for len(v) >= 4 {
		w, x, y, z := v[0]*unit, v[1]*unit, v[2]*unit, v[3]*unit
		a += float64(w * w)
		b += float64(x * x)
		c += float64(y * y)
		d += float64(z * z)
		v = v[4:]
	}
	for _, x := range v {
		x *= unit
		a += float64(x * x)
	}
	return (a + b) + (c + d)
}

// tryAdd adds v·unit·factor, truncated, to sum and reports whether its integer
// norm is at most clip. If not, [subtract] takes it back, exactly even where an
// element wrapped around.
func (g *gate) tryAdd(sum []int64, v []float64, unit, factor float64) bool {
	var hi, lo, carry, longest uint64
	sum = sum[:len(v)]
	for i, x := range v {
		n := int64(float64(x*unit) * factor)
		sum[i] += n
		sign := n >> 63
		size := uint64(n ^ sign - sign)
		longest |= size
		h, l := bits.Mul64(size, size)
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	// An element of 2^(maxClipBits+1) or more is beyond the bound alone; without
	// one the sum of squares did not wrap.
	if longest>>(maxClipBits+1) != 0 {
		return false
	}
	return hi < g.limitHi || hi == g.limitHi && lo <= g.limitLo
}

// subtract undoes tryAdd.
func subtract(sum []int64, v []float64, unit, factor float64) {
	for i, x := range v {
		sum[i] -= int64(float64(x*unit) * factor)
	}
}

// finite reports whether no element of v is NaN or an infinity.
func finite(v []float64) bool {
	for _, x := range v {
		if !(math.Abs(x) <= math.MaxFloat64) {
			return false
		}
	}
	return true
}
