// Package gaussian is the exponential family in which posteriors and factors
// live: Gaussians over R^d written in natural parameters.
//
// Natural parameters are a plain []float64: first the d elements of h = Λm
// (precision times mean), then the precision Λ, either its diagonal
// ([Diagonal]) or its lower triangle row by row, Λ11 Λ21 Λ22 Λ31 ... ([Full]).
// In this layout the product of two factors is the sum of their vectors and
// removing a factor is a difference. A factor need not be a distribution: only
// operations that need a proper Gaussian, one whose precision is positive
// definite, fail for one that is not, with [ErrImproper].
//
// The coordinates (Λm, Λ) differ from the textbook's (Λm, −Λ/2) by a constant
// factor only, which makes them easier to read and changes nothing else.
//
// Slices named dst are overwritten. A slice of the wrong length is a
// programming error and panics.
package gaussian
