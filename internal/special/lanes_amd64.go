package special

import "golang.org/x/sys/cpu"

// The same results in lanes of four, where the processor has them.

var hasLanes = cpu.X86.HasAVX2

// expAVX2 writes eˣ for fours of elements until one of them is not for it, and returns
// how many it wrote.
//
//go:noescape
func expAVX2(dst, x []float64) int

// invLogitAVX2 does so for 1/(1+e⁻ˣ).
//
//go:noescape
func invLogitAVX2(prob, x []float64) int

// ExpAll writes eˣ for every element of x to dst, which may be x. The relative
// error is below 4e-16 (a table of powers, 64 to the octave, and a polynomial
// of degree 5 for the rest); what over- or underflows is left to
// math.Exp.
func ExpAll(dst, x []float64) {
	x = x[:len(dst)]
	for hasLanes && len(x) >= 4 {
		n := expAVX2(dst, x)
		left := min(len(x), n+4)
		expOneByOne(dst[n:left], x[n:left])
		dst, x = dst[left:], x[left:]
	}
	expOneByOne(dst, x)
}

// InvLogitAll writes 1/(1+e⁻ˣ) to prob, which may not be x, for every element of x: the
// bits that SoftplusAll gives.
func InvLogitAll(prob, x []float64) {
	prob = prob[:len(x)]
	for hasLanes && len(x) >= 4 {
		n := invLogitAVX2(prob, x)
		left := min(len(x), n+4)
		invLogitOneByOne(prob[n:left], x[n:left])
		prob, x = prob[left:], x[left:]
	}
	invLogitOneByOne(prob, x)
}
