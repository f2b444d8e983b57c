//go:build !amd64

package special

// ExpAll writes eˣ for every element of x to dst, which may be x. The relative
// error is below 4e-16 (a table of powers, 64 to the octave, and a polynomial
// of degree 5 for the rest); what over- or underflows is left to
// math.Exp.
func ExpAll(dst, x []float64) { expOneByOne(dst, x[:len(dst)]) }

// InvLogitAll writes 1/(1+e⁻ˣ) to prob, which may not be x, for every element of x: the
// bits that SoftplusAll gives.
func InvLogitAll(prob, x []float64) { invLogitOneByOne(prob[:len(x)], x) }
