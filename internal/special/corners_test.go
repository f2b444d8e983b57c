package special

import (
	"math"
	"math/big"
	"testing"
)

// corners are numbers at which formulas overflow, underflow or divide by zero.
var corners = []float64{
	math.NaN(), math.Inf(-1), -1e308, -1e154, -1e9, -745.2, -38.5, -2, -1, -.5, -1e-308, -5e-324, math.Copysign(0, -1),
	0, 5e-324, 1e-308, 1e-154, 1e-8, .5, 1, 2, 31.5, 32, 255, 256, 709.9, 1e8, 1e9, 1e154, 1e308, math.Inf(1),
}

// No function may panic. Most results must agree with another formula, or with the limit.
func TestCorners(t *testing.T) {
	all := func(f func(dst, x []float64)) func(float64) float64 {
		return func(x float64) float64 {
			var dst [1]float64
			f(dst[:], []float64{x})
			return dst[0]
		}
	}
	softplus := func(x float64) float64 {
		if x > 40 {
			return x
		}
		return math.Log1p(math.Exp(x))
	}
	invLogit := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	inf := math.Inf(1)
	for name, f := range map[string][2]func(float64) float64{
		"exp all":       {all(ExpAll), math.Exp},
		"log all":       {all(LogAll), math.Log},
		"log1p all":     {all(Log1pAll), math.Log1p},
		"tanh all":      {all(TanhAll), math.Tanh},
		"inv logit":     {InvLogit, invLogit},
		"inv logit all": {all(InvLogitAll), invLogit},
		"softplus":      {Softplus, softplus},
		"softplus all":  {all(func(dst, x []float64) { SoftplusAll(dst, make([]float64, 1), x) }), softplus},
		"phi":           {Phi, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
		"log phi":       {func(x float64) float64 { v, _ := LogPhi(x); return v }, logPhi},
		"normal ratio":  {func(x float64) float64 { _, s := LogPhi(x); return s }, normalRatio},
		"ratio all":     {all(NormalRatioAll), normalRatio},
		"digamma":       {Digamma, func(x float64) float64 { return polygamma(x, math.Copysign(inf, -x), inf, digammaSeries) }},
		"trigamma":      {Trigamma, func(x float64) float64 { return polygamma(x, inf, 0, trigammaSeries) }},
	} {
		for _, x := range corners {
			got, want := f[0](x), f[1](x)
			if !(got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 1e-9*math.Abs(want)) && (name != "digamma" || !(x < 0)) {
				t.Errorf("%s of %g is %g, want %g", name, x, got, want)
			}
		}
	}
	for _, x := range corners {
		Lgamma(x)
		if v := LogFactorial(x); x > 1e8 && !(math.Abs(v/(x*(math.Log(x)-1))-1) < 1e-6 || math.IsInf(v, 1)) {
			t.Errorf("log of the factorial of %g is %g", x, v)
		}
		for _, k := range corners {
			if v, s := LogRising(x, k); math.IsNaN(k) && v == v && s == s {
				t.Errorf("log rising of %g and NaN is %g and %g", x, v, s)
			}
		}
	}
}

// logPhi returns log Φ(x). Below −30 it uses an asymptotic formula.
func logPhi(x float64) float64 {
	if x < -30 {
		return -x*x/2 - HalfLogTwoPi - math.Log(normalRatio(x))
	}
	return math.Log(math.Erfc(-x/math.Sqrt2) / 2)
}

// normalRatio returns φ(x)/Φ(x). Below −30 it uses an asymptotic formula.
func normalRatio(x float64) float64 {
	if s := 1 / x / x; x < -30 {
		return -x / (1 - s + 3*s*s - 15*s*s*s)
	}
	return math.Exp(-x*x/2-HalfLogTwoPi) / (math.Erfc(-x/math.Sqrt2) / 2)
}

// polygamma is a reference for derivatives of log Γ, such as ψ. It returns zero at x = 0, infinity
// at +Inf, series(x) at other positive x, and NaN otherwise.
func polygamma(x, zero, infinity float64, series func(x float64) float64) float64 {
	switch {
	case x == 0:
		return zero
	case math.IsInf(x, 1):
		return infinity
	case x > 0:
		return series(x)
	}
	return math.NaN()
}

// shift is added to x so that the asymptotic series needs only a few terms.
const shift = 1000

// digammaSeries returns ψ(x) = log y − 1/2y − 1/12y² − Σ 1/(x+j) for y = x + shift.
func digammaSeries(x float64) float64 {
	y := x + shift
	sum := math.Log(y) - 1/(2*y) - 1/(12*y*y)
	for j := range shift {
		sum -= 1 / (x + float64(j))
	}
	return sum
}

// trigammaSeries returns ψ′(x) = 1/y + 1/2y² + 1/6y³ + Σ 1/(x+j)² for y = x + shift. No term
// overflows.
func trigammaSeries(x float64) float64 {
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(256).SetFloat64(v) }
	over := func(v, n float64, power int) *big.Float {
		q := exact(1)
		for range power {
			q.Quo(q, exact(v))
		}
		return q.Quo(q, exact(n))
	}
	y := x + shift
	sum := over(y, 1, 1)
	sum.Add(sum, over(y, 2, 2)).Add(sum, over(y, 6, 3))
	for j := range shift {
		sum.Add(sum, over(x+float64(j), 1, 2))
	}
	v, _ := sum.Float64()
	return v
}
