package solver

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/internal/special"
	"fedpvi/pvi/study"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"
)

// A tested is a response with the kind of its outcomes.
type tested struct {
	of   Response
	kind study.OutcomeKind
}

// responses holds the response of every family, some also with other settings.
var responses = func() map[string]tested {
	all := map[string]tested{
		"known normal":   {knownNormal{variance: .3}, study.Measured},
		"two classes":    {softmax{2}, study.Class},
		"varying logit":  {newVarying(logit{}, 2), study.Binary},
		"varying normal": {newVarying(normal{}, 1), study.Measured},
	}
	for family, response := range regressions {
		all[string(family)] = tested{response(&Outcome{Family: family, DegreesOfFreedom: 4, Classes: 4}), (&study.Model{Family: family}).Kind()}
	}
	return all
}()

// outcomes returns all values of an outcome, or nil if it is a real number. It omits counts whose
// probability is negligible at the predictors of these tests.
func (c tested) outcomes() (all []float64) {
	n := map[study.OutcomeKind]int{study.Binary: 2, study.Class: c.of.Size() + 1, study.Count: 3000}[c.kind]
	for y := range n {
		all = append(all, float64(y))
	}
	return all
}

func (c tested) y() *rapid.Generator[float64] {
	if all := c.outcomes(); all != nil {
		return rapid.SampledFrom(all[:min(len(all), 91)])
	}
	return rapid.Float64Range(-9, 9)
}

// Gradient and Hessian agree with finite differences of the value and of the gradient.
func TestResponseDerivatives(t *testing.T) {
	for name, r := range responses {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k := r.of.Size()
				y := r.y().Draw(t, "y")
				eta := rapid.SliceOfN(rapid.Float64Range(-3, 3), k, k).Draw(t, "η")
				g, h := make([]float64, k), make([]float64, k*k)
				value := r.of.Eval(y, eta, g, h)
				scratch := make([]float64, k*k)
				for a := range eta {
					slopes := differences(eta, a, func() []float64 { // of the value and of the gradient
						all := make([]float64, 1+k)
						all[0] = r.of.Eval(y, eta, all[1:], scratch)
						return all
					})
					if math.Abs(slopes[0]-g[a]) > 1e-6*(1+math.Abs(value)+math.Abs(g[a])) {
						t.Fatalf("derivative %d is %g, differences give %g", a, g[a], slopes[0])
					}
					for b := range eta {
						if bend := slopes[1+b]; math.Abs(bend-h[b*k+a]) > 1e-5*(1+math.Abs(bend)) {
							t.Fatalf("second derivative %d, %d is %g, differences give %g", b, a, h[b*k+a], bend)
						}
					}
				}
			})
		})
	}
}

// The probabilities of all outcomes add up to one.
func TestResponsesAreNormalised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eta := rapid.SliceOfN(rapid.Float64Range(-2.5, 2.5), 5, 5).Draw(t, "η")
		for name, c := range responses {
			if _, ok := c.of.(*varying); ok {
				continue
			}
			k := c.of.Size()
			g, h := make([]float64, k), make([]float64, k*k)
			density := func(y float64) float64 { return math.Exp(c.of.Eval(y, eta[:k], g, h)) }
			total := 0.0
			for _, y := range c.outcomes() {
				total += density(y)
			}
			if c.kind == study.Measured { // integrate over u with y = tan u
				total = quad.Fixed(func(u float64) float64 {
					c := math.Cos(u)
					return density(eta[0]+math.Tan(u)) / (c * c)
				}, -math.Pi/2, math.Pi/2, 1500, quad.Legendre{}, 0)
			}
			if math.Abs(total-1) > 1e-6 {
				t.Fatalf("%s at %v: probabilities add up to %g", name, eta[:k], total)
			}
		}
	})
}

// Outcomes from Draw have the response's distribution: the mean gradient is zero, and the mean
// Hessian is minus the mean square of the gradient.
func TestDraws(t *testing.T) {
	const n = 40_000
	for name, c := range responses {
		if _, ok := c.of.(*varying); ok {
			continue
		}
		k := c.of.Size()
		// scale is the sd of the noise of the response "known normal".
		eta, scale := []float64{.4, -.3, .6}[:k], math.Sqrt(.3)
		location := eta
		if k == 2 {
			location, scale = eta[:1], math.Exp(eta[1])
		}
		g, h := make([]float64, k), make([]float64, k*k)
		r := rand.New(rand.NewPCG(1, 2))
		var slope, squares, bend [3]float64
		for range n {
			c.of.Eval(c.of.Draw(location, scale, r), eta, g, h)
			for a, x := range g {
				slope[a] += x / n
				squares[a] += x * x / n
				bend[a] -= h[a*k+a] / n
			}
		}
		for a := range k {
			sd := math.Sqrt(squares[a] / n)
			if math.Abs(slope[a]) > 5*sd || math.Abs(squares[a]/bend[a]-1) > .1 {
				t.Errorf("%s: gradient %d is %.3g on average, its square %.3g, the second derivative %.3g", name, a, slope[a], squares[a], -bend[a])
			}
		}
	}
}

// At extreme predictors all results are finite. Counts are omitted, because their mean overflows.
func TestResponsesFarOut(t *testing.T) {
	for name, r := range responses {
		if r.kind == study.Count {
			continue
		}
		k := r.of.Size()
		g, h := make([]float64, k), make([]float64, k*k)
		for _, x := range []float64{-700, -38, 38, 700} {
			eta := make([]float64, k)
			eta[0] = x
			for _, y := range []float64{0, 1} {
				if value := r.of.Eval(y, eta, g, h); !special.Finite(append(append([]float64{value}, g...), h...)) {
					t.Errorf("%s of %g at %g: value %g, gradient %v, Hessian %v", name, y, x, value, g, h)
				}
			}
		}
	}
}

// log Φ agrees with erfc if that does not underflow. In the far tail it agrees with the asymptotic
// series 1/x − 1/x³ + 3/x⁵ − ….
func TestLogNormalCDF(t *testing.T) {
	for x := -40.0; x <= 8; x += .25 {
		log, ratio := logNormalCDF(x)
		if x > -30 {
			if want := math.Log(math.Erfc(-x/math.Sqrt2) / 2); math.Abs(log-want) > 1e-13*(1+math.Abs(want)) {
				t.Errorf("log Φ(%g) = %.17g, want %.17g", x, log, want)
			}
		} else {
			t2 := 1 / (x * x)
			series := -x*x/2 - special.HalfLogTwoPi - math.Log(-x) + math.Log1p(t2*(-1+t2*(3+t2*(-15+t2*(105-945*t2)))))
			if math.Abs(log-series) > 1e-12*math.Abs(series) {
				t.Errorf("log Φ(%g) = %.17g, want %.17g as from the series", x, log, series)
			}
		}
		if want := math.Exp(-x*x/2 - special.HalfLogTwoPi - log); math.Abs(ratio-want) > 1e-11*want {
			t.Errorf("φ/Φ at %g is %.17g, want %.17g", x, ratio, want)
		}
	}
}
