// Package math32 computes in float32, which is faster than float64 and accurate enough for the
// autoencoder: products of matrices, the activation functions of a network, and the optimizer Adam.
//
// CPUs with AVX2 and fused multiply-add run vector code. Other CPUs run plain code, which agrees up
// to rounding. The bound [SumError] on the rounding of a sum holds for both.
package math32
