// Package field implements arithmetic modulo the prime P = 2⁶¹ − 1.
//
// An element is a uint64 below P. Unless their comments say otherwise, functions take and return
// elements. Their running time and memory accesses do not depend on the values.
package field

import "math/bits"

// P is the order of the field.
const P = 1<<61 - 1

// MaxInteger is the largest absolute value that ToInteger can recover from the output of
// FromInteger.
const MaxInteger = (P - 1) / 2

// once returns x mod P for x < 2P.
func once(x uint64) uint64 { return (x + (x+1)>>61) & P }

// Add returns a + b.
func Add(a, b uint64) uint64 { return once(a + b) }

// Sub returns a − b.
func Sub(a, b uint64) uint64 { return once(a + (P - b)) }

// Mul returns a·b.
func Mul(a, b uint64) uint64 { return Reduce(bits.Mul64(a, b)) }

// Element returns x mod P for x < 8P.
func Element(x uint64) uint64 {
	// Let x = k·P + r with r < P, so that r is the result. If r ≥ k, then x>>61 is k. Otherwise it
	// is k − 1. In both cases, k·2⁶¹ ≤ x + x>>61 + 1 < (k + 1)·2⁶¹, so the shift below gives k.
	// Since P = 2⁶¹ − 1, the sum x + k is k·2⁶¹ + r, and its low 61 bits are r.
	k := (x + x>>61 + 1) >> 61
	return (x + k) & P
}

// Reduce returns hi·2⁶⁴ + lo mod P. It accepts any hi and lo.
func Reduce(hi, lo uint64) uint64 {
	// Since 2⁶¹ = 1 mod P, add up the bits 0 to 60, 61 to 121, and 122 to 127.
	return Element(lo&P + (lo>>61|hi<<3)&P + hi>>58)
}

// Valid reports whether x is an element.
func Valid(x uint64) bool { return x < P }

// Beyond returns 0 if x is an element, and otherwise another number.
func Beyond(x uint64) uint64 { return (x | (x + 1)) >> 61 }

// FromInteger returns v mod P, for |v| ≤ MaxInteger.
func FromInteger(v int64) uint64 { return uint64(v) + P&uint64(v>>63) }

// ToInteger is the inverse of FromInteger.
func ToInteger(x uint64) int64 {
	return int64(x - P&-((MaxInteger-x)>>63))
}
