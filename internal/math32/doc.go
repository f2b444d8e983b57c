// Package math32 computes with float32 numbers, which makes the autoencoder fast. It has
// products of matrices, the functions of a network's units, and the optimizer Adam.
//
// Processors with AVX2 and fused multiply-add run vector code. Other processors run plain code,
// which agrees with the vector code up to rounding. The bound [SumError] on the rounding of a
// sum holds for both.
package math32
