package gpu

import (
	"math"
	"testing"
)

// klAt returns KL(q_x ‖ q_y) by the textbook formula, where q_x is N(m, exp(2ρ)) for (m, ρ) = x,
// and q_y is the same for y.
func klAt(x, y []float64) float64 {
	s, r := math.Exp(x[1]), math.Exp(y[1])
	gap := x[0] - y[0]
	return math.Log(r/s) + (s*s+gap*gap)/(2*r*r) - .5
}

// The test checks that a small step Δ solves F·Δ = rate·g for the gradient g. It computes the
// Fisher information F by finite differences, as the curvature of the KL divergence between nearby
// points.
func TestNaturalStepIsTheGradientTimesTheInverseFisherInformation(t *testing.T) {
	natural := Natural{Reach: 1}
	for _, at := range [][]float64{{.3, -2}, {-4, .5}, {0, 1.5}} {
		const h, rate = 1e-4, 1e-3
		curvature := func(i int) float64 {
			above, below := []float64{at[0], at[1]}, []float64{at[0], at[1]}
			above[i] += h
			below[i] -= h
			// The second difference needs no term for the middle point, because the divergence
			// from a point to itself is 0.
			return (klAt(above, at) + klAt(below, at)) / (h * h)
		}
		g := []float64{.7, -1.3}
		x := []float64{at[0], at[1]}
		natural.Step(x, g, rate)
		for i := range x {
			want := rate * g[i] / curvature(i)
			if got := x[i] - at[i]; math.Abs(got/want-1) > 1e-5 {
				t.Errorf("at %v: coordinate %d moves by %g, want %g", at, i, got, want)
			}
		}
	}
}

// A step must move a coordinate in the direction of the gradient, but not further than the reach,
// however large the gradient and the rate are.
func TestNaturalStepHasAReach(t *testing.T) {
	const reach = .5
	natural := Natural{reach}
	for _, g := range [][2]float64{{3e5, 0}, {0, -4e7}, {1e3, 1e5}, {-1e300, 1e300}, {3.75, 0}} {
		for _, rate := range []float64{1, 1e300} {
			const sd = .2
			x := []float64{1, math.Log(sd)}
			natural.Step(x, g[:], rate)
			mean, spread := (x[0]-1)/sd, math.Sqrt2*(x[1]-math.Log(sd))
			if length := math.Hypot(mean, spread); math.Abs(length-reach) > 1e-9 {
				t.Errorf("gradient %v at rate %g: a step of length %g, want %g", g, rate, length, float64(reach))
			}
			if mean*g[0] < 0 || spread*g[1] < 0 {
				t.Errorf("gradient %v at rate %g: a step of (%g, %g)", g, rate, mean, spread)
			}
		}
	}
}
