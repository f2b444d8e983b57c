// Package gaussian is the exponential family of posteriors and factors: Gaussians over R^d in
// natural parameters.
//
// Natural parameters are a plain []float64: first the d elements of h = Λm (precision times mean),
// then the precision Λ. Λ is stored as its diagonal ([Diagonal]) or as its lower triangle row by
// row, Λ11 Λ21 Λ22 Λ31 ... ([Full]). In this layout the product of two factors is the sum of their
// vectors. A factor need not be a distribution. It is proper if its precision is positive definite.
// Operations that need a proper Gaussian return [ErrImproper] for other factors.
//
// The coordinates (Λm, Λ) differ from the textbook's (Λm, −Λ/2) by a constant factor.
//
// Functions overwrite slices named dst. They panic if a slice has the wrong length.
package gaussian
