// Package math32 computes with float32 numbers, which the autoencoder needs for speed: products
// of matrices, the functions of a network's units, and steps of Adam.
//
// Processors with AVX2 and fused multiply-add run vector code. Plain code for all others agrees
// with it up to rounding that tests bound. The bound on the rounding of a sum, [SumError],
// holds for both.
package math32
