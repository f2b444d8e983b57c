// Package math32 computes with float32 numbers where float64 is too slow: products of
// matrices, the functions of a network's units, and steps of Adam.
//
// Processors with AVX2 and fused products run vector code; the plain code beside it, for
// all others, agrees up to the rounding that tests bound. What is promised of the
// rounding of a sum, [SumError], holds for both.
package math32
