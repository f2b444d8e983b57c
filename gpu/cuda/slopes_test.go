//go:build emulator || cuda

package cuda

import (
	"math"
	"testing"

	"fedpvi/internal/special"
)

// The test compares derivatives of log densities that the kernels compute with the formulas of the
// densities and with package special. Some outcomes are nearly certain, others nearly impossible.
func TestSlopesOfOutcomes(t *testing.T) {
	etas := []float64{0, 1e-9, -0.25, 0.5, 0.7, -1.3, 2, -2.49, 3.1, -4, 6.7, -7.99, 7.99, 8, -8, -8.01, 12, -30, 37, -37, 100, -700}
	binary := []float64{0, 1}
	counts := []float64{0, 1, 2, 15, 16, 17, 18, 40, 999, 1e5}
	reals := []float64{0, -1, 3, 1e4}
	logit := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for name, c := range map[string]struct {
		family                     Family
		degrees, spread, logSpread float64
		outcomes                   []float64
		want                       func(eta, y float64) (slope, scale float64)
	}{
		"logistic": {Logistic, 0, 0, 0, binary, func(eta, y float64) (float64, float64) { return y - logit(eta), 0 }},
		"linear": {Linear, 0, 2.5, 0, reals, func(eta, y float64) (float64, float64) {
			return (y - eta) * 2.5, (y-eta)*(y-eta)*2.5 - 1
		}},
		"poisson": {Poisson, 0, 0, 0, counts, func(eta, y float64) (float64, float64) { return y - math.Exp(eta), 0 }},
		"probit": {Probit, 0, 0, 0, binary, func(eta, y float64) (float64, float64) {
			sign := 2*y - 1
			_, slope := special.LogPhi(sign * eta)
			return sign * slope, 0
		}},
		"robust": {Robust, 3.5, 0.4, 0, reals, func(eta, y float64) (float64, float64) {
			z := (y - eta) * math.Sqrt(0.4)
			w := 4.5 / (3.5 + z*z)
			return w * z * math.Sqrt(0.4), w*z*z - 1
		}},
		"negative binomial, φ = 0.02": {NegativeBinomial, 0, 0.02, math.Log(0.02), counts, negBinomial(0.02)},
		"negative binomial, φ = 1.7":  {NegativeBinomial, 0, 1.7, math.Log(1.7), counts, negBinomial(1.7)},
		"negative binomial, φ = 400":  {NegativeBinomial, 0, 400, math.Log(400), counts, negBinomial(400)},
	} {
		var points []float64
		for _, eta := range etas {
			for _, y := range c.outcomes {
				points = append(points, eta, y)
			}
		}
		for _, d := range devices {
			n := len(points) / 2
			got := output(t, d, len(points), "outcome_slopes", (n+63)/64, 64, 0, uint64(c.family),
				put(t, d, appendFloats(nil, []float64{c.degrees, c.spread, c.logSpread})), put(t, d, appendFloats(nil, points)), uint64(n))
			for i := range n {
				eta, y := points[2*i], points[2*i+1]
				slope, scale := c.want(eta, y)
				// A derivative is a difference of two terms, so the tolerance is proportional to
				// the size of the terms.
				parts := 1 + y
				if a, b := math.Float64frombits(got[2*i]), math.Float64frombits(got[2*i+1]); !close(a, slope, parts) || c.spread > 0 && !close(b, scale, (parts+c.spread)*(1+math.Abs(eta))) {
					t.Errorf("%s on %s, η = %g, y = %g: %v and %v, want %v and %v", name, d.Name(), eta, y, a, b, slope, scale)
				}
			}
		}
	}
}

func close(got, want, parts float64) bool {
	return got == want || math.Abs(got-want) <= 1e-13*(math.Abs(want)+parts) || math.Abs(got/want-1) < 1e-13
}

// negBinomial returns a function that computes the log density's derivatives with respect to η and
// log φ.
func negBinomial(phi float64) func(eta, y float64) (slope, scale float64) {
	return func(eta, y float64) (slope, scale float64) {
		x := eta - math.Log(phi)
		share := 1 / (1 + math.Exp(-x))
		softplus := math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
		rise := 0.0 // ψ(φ+y) − ψ(φ), added up from the smallest term
		for k := y - 1; k >= 0; k-- {
			rise += 1 / (phi + k)
		}
		return y - (y+phi)*share, phi*(rise-softplus) + (y+phi)*share - y
	}
}
