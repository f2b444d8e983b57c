// Package special provides special functions that are missing from package math, or that overflow
// or lose digits there.
package special

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Softplus returns log(1 + eˣ).
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// InvLogit returns 1/(1 + e⁻ˣ).
func InvLogit(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}

// Phi returns the distribution function of the standard normal distribution.
func Phi(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }

// LogPhi returns log Φ(x) and its derivative φ(x)/Φ(x), both with full relative accuracy for x down
// to -1e7.
func LogPhi(x float64) (value, slope float64) {
	if x > -30 {
		p := Phi(x)
		return math.Log(p), math.Exp(-.5*x*x-HalfLogTwoPi) / p
	}
	// r is the Mills ratio Φ(x)/φ(x), which is 1/|x|·(1 − 1/x² + 3/x⁴ − 15/x⁶ + ...) for x far
	// below zero.
	r := mills(-x)
	return -.5*x*x - HalfLogTwoPi + math.Log(r), 1 / r
}

// mills returns (1 − Φ(t))/φ(t) for large t, by Laplace's continued fraction
//
//	1/(t + 1/(t + 2/(t + 3/(t + ...))))
func mills(t float64) float64 {
	f := t
	for k := 24; k >= 1; k-- {
		f = t + float64(k)/f
	}
	return 1 / f
}

// Digamma returns the derivative of log Γ at x > 0.
func Digamma(x float64) float64 { return mathext.Digamma(x) }

// Trigamma returns the second derivative of log Γ at x > 0, +Inf at 0, and NaN below 0, where
// mathext.Zeta would panic.
func Trigamma(x float64) float64 {
	switch {
	case x > 0:
		return mathext.Zeta(2, x)
	case x == 0:
		return math.Inf(1)
	}
	return math.NaN()
}

// Lgamma returns log Γ(x) for x > 0.
func Lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
