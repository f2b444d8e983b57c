package solver

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/internal/special"
)

func (logit) Outcome(eta []float64, z [2]float64) float64 {
	return indicator(special.Phi(z[0]) < special.InvLogit(eta[0]))
}

func (probit) Outcome(eta []float64, z [2]float64) float64 { return indicator(z[0] < eta[0]) }

func indicator(positive bool) float64 {
	if positive {
		return 1
	}
	return 0
}

func (k knownNormal) Outcome(eta []float64, z [2]float64) float64 {
	return eta[0] + math.Sqrt(k.variance)*z[0]
}

func (normal) Outcome(eta []float64, z [2]float64) float64 { return eta[0] + math.Exp(eta[1])*z[0] }

func (normal) Information(eta, w []float64) {
	w[0], w[1], w[2], w[3] = math.Exp(-2*eta[1]), 0, 0, 2
}

func (s student) Outcome(eta []float64, z [2]float64) float64 {
	return eta[0] + math.Exp(eta[1])*distuv.StudentsT{Sigma: 1, Nu: s.nu}.Quantile(special.Phi(z[0]))
}

// Information implements [Described] with the formula of Lange, Little and Taylor, "Robust
// Statistical Modeling Using the t Distribution" (1989), appendix B.
func (s student) Information(eta, w []float64) {
	w[0], w[1], w[2], w[3] = (s.nu+1)/(s.nu+3)*math.Exp(-2*eta[1]), 0, 0, 2*s.nu/(s.nu+3)
}

func (poisson) Information(eta, w []float64) { w[0] = math.Exp(eta[0]) }

func (poisson) Outcome(eta []float64, z [2]float64) float64 { return poissonAt(math.Exp(eta[0]), z[0]) }

// poissonAt returns the Φ(z)-quantile of the Poisson distribution with the given mean. Above a mean
// of 600, where exp(−mean) may underflow, it uses a normal distribution.
func poissonAt(mean, z float64) float64 {
	const many = 600
	if mean > many {
		return math.Max(0, math.Round(mean+math.Sqrt(mean)*z))
	}
	u, y := special.Phi(z), 0.0
	for p := math.Exp(-mean); u >= p && y < 2*many; p *= mean / y {
		u -= p
		y++
	}
	return y
}

// Overdispersed returns a count whose mean is exp(eta) times a gamma-distributed factor with mean 1
// and variance frailty. It is negative binomial with size 1/frailty. See [Described] for z.
func Overdispersed(eta, frailty float64, z [2]float64) float64 {
	return negativeBinomial{}.Outcome([]float64{eta, -math.Log(frailty)}, z)
}

// Information implements [Described]. Let Y be the count, μ its mean, φ the dispersion and ψ′ the
// trigamma function. The information about log φ is
//
//	φ²(ψ′(φ) − E ψ′(φ+Y)) − φμ/(μ+φ).
//
// The expectation is a sum over counts. It ends when the remaining probability is at most 10⁻⁶, or
// after 16384 counts, and gives all of that probability to the next count.
func (negativeBinomial) Information(eta, w []float64) {
	mean, phi := math.Exp(eta[0]), math.Exp(eta[1])
	share := mean / (mean + phi)
	w[0], w[1], w[2] = phi*share, 0, 0
	const most = 1 << 14
	// Before each pass, p is the probability of y, left that of a count of at least y, gap is
	// φ²(ψ′(φ) − ψ′(φ+y)), and sum is the sum of p·gap over smaller counts.
	p := math.Exp(-phi * math.Log1p(mean/phi))
	left, gap, sum := 1.0, 0.0, 0.0
	for y := 0.0; left > 1e-6 && y < most; y++ {
		sum += p * gap
		left -= p
		gap += phi * phi / ((phi + y) * (phi + y))
		p *= share * (phi + y) / (y + 1)
	}
	w[3] = max(sum+max(left, 0)*gap-phi*share, 0)
}

func (negativeBinomial) Outcome(eta []float64, z [2]float64) float64 {
	phi := math.Exp(eta[1])
	u := min(max(special.Phi(z[1]), 1e-12), 1-1e-12)
	return poissonAt(math.Exp(eta[0])*distuv.Gamma{Alpha: phi, Beta: phi}.Quantile(u), z[0])
}

func (softmax) Outcome(eta []float64, z [2]float64) float64 { return class(eta, special.Phi(z[0])) }
