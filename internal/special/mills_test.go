package special

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// The reference computes Φ(x)/φ(x) = ∫₀^∞ exp(xs − s²/2) ds with 80 Gauss-Legendre rules of 12
// points, and adds up the terms in a compensated sum.
func TestNormalRatioAgainstQuadrature(t *testing.T) {
	const panels, points = 80, 12
	nodes, weights := make([]float64, points), make([]float64, points)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	integral := func(x float64) (sum float64) {
		var lost float64
		// Outside the integration range, the integrand is below e^−45 times its maximum.
		mode := max(x, 0)
		reach := mode + min(math.Sqrt(90), 45/math.Max(-x, .1))
		for k := range panels {
			for i, node := range nodes {
				s := reach / panels * (float64(k) + node)
				term := weights[i]*reach/panels*math.Exp(x*s-s*s/2) - lost
				next := sum + term
				sum, lost = next, next-sum-term
			}
		}
		return sum
	}
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 4000)
	for i := range x {
		x[i] = rng.Float64()*60 - 40
		if i%2 == 0 {
			x[i] = 3 * rng.NormFloat64()
		}
	}
	ratio := make([]float64, len(x))
	NormalRatioAll(ratio, x)
	var worst float64
	for i, u := range x {
		bound := 1.5e-15 * max(1, u*u)
		if u < 0 {
			bound = 1.5e-15
		}
		gap := math.Abs(ratio[i]*integral(u) - 1)
		worst = max(worst, gap/bound)
	}
	if !(worst <= 1) {
		t.Errorf("the error is %.3g times the documented bound", worst)
	}
}

// Results must be accurate where package math underflows, and must not depend on the other
// elements.
func TestNormalRatioEverywhere(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 8, -8, math.Nextafter(8, 0), math.Nextafter(-8, 0), 40, -40, 1e6, -1e6, math.Inf(1), math.Inf(-1), 1e-320, -1e-320}
	ratio, one := make([]float64, len(x)), make([]float64, 1)
	NormalRatioAll(ratio, x)
	for i, u := range x {
		_, want := LogPhi(u)
		if math.IsInf(u, 0) {
			want = max(-u, 0)
		}
		if ratio[i] != want && !(math.Abs(ratio[i]-want) <= 1e-14*want) {
			t.Errorf("at %g: %g, want %g", u, ratio[i], want)
		}
		NormalRatioAll(one, x[i:i+1])
		if one[0] != ratio[i] {
			t.Errorf("at %g the result has other bits than in a longer slice", u)
		}
	}
	NormalRatioAll(one, []float64{math.NaN()})
	if !math.IsNaN(one[0]) {
		t.Errorf("of NaN: %g", one[0])
	}
}

func BenchmarkNormalRatioAll(b *testing.B) { bench(b, NormalRatioAll) }
