package accountant

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"
)

// hockeyStick integrates (φ(x−μ) − e^ε φ(x))₊ over the half line where it is positive. It does not
// use Mills' ratio.
func hockeyStick(mu, epsilon float64) float64 {
	from := epsilon/mu + mu/2 // the likelihood ratio is e^ε at this point
	f := func(x float64) float64 {
		return invSqrt2Pi * (math.Exp(-(x-mu)*(x-mu)/2) - math.Exp(epsilon-x*x/2))
	}
	var sum float64
	for i := range 80 {
		sum += quad.Fixed(f, from+float64(i)/4, from+float64(i+1)/4, 20, nil, 0)
	}
	return sum
}

func TestGaussianDeltaByQuadrature(t *testing.T) {
	for _, mu := range []float64{.05, .3, 1, 2, 5} {
		for _, epsilon := range []float64{0, .1, 1, 3, 8} {
			got, want := GaussianDelta(mu, epsilon), hockeyStick(mu, epsilon)
			if math.Abs(got-want) > 1e-12+1e-9*want {
				t.Errorf("δ(%g) for μ = %g: %g, by quadrature %g", epsilon, mu, got, want)
			}
		}
	}
}

// The values are from Balle and Wang 2018 and from tables.
func TestGaussianMu(t *testing.T) {
	for _, c := range []struct{ epsilon, mu float64 }{
		{.3, .0890}, {.5, .1422}, {1, .2681}, {2, .5016}, {4, .9249}, {5.5, 1.216}, {10, 2.00},
	} {
		if got := GaussianMu(c.epsilon, 1e-5); math.Abs(got-c.mu) > .005*c.mu {
			t.Errorf("μ(%g, 1e-5) = %g, want %g", c.epsilon, got, c.mu)
		}
	}
}

func TestGaussianRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-7, 5).Draw(t, "log mu"))
		delta := math.Exp(rapid.Float64Range(-600, -0.7).Draw(t, "log delta"))
		epsilon := GaussianEpsilon(mu, delta)
		if got := GaussianDelta(mu, epsilon); got > delta {
			t.Fatalf("GaussianEpsilon(%g, %g) = %g misses: δ = %g", mu, delta, epsilon, got)
		}
		if epsilon > 0 {
			if got := GaussianDelta(mu, epsilon*(1-1e-9)); got < delta*(1-1e-6) {
				t.Fatalf("GaussianEpsilon(%g, %g) = %g is not tight", mu, delta, epsilon)
			}
			if back := GaussianMu(epsilon, delta); math.Abs(back-mu) > 1e-9*mu {
				t.Fatalf("GaussianMu(%g, %g) = %g, want %g", epsilon, delta, back, mu)
			}
		}
	})
}

func FuzzGaussianDelta(f *testing.F) {
	f.Add(1.0, 1.0)
	f.Add(1e-6, 1000.0)
	f.Add(1e3, 0.0)
	f.Fuzz(func(t *testing.T, mu, epsilon float64) {
		if !(mu >= 0 && mu < 1e150 && epsilon >= 0 && epsilon < 1e300) {
			t.Skip("out of the domain")
		}
		if delta := GaussianDelta(mu, epsilon); !(delta >= 0 && delta <= 1) {
			t.Fatalf("GaussianDelta(%g, %g) = %g", mu, epsilon, delta)
		}
	})
}

func TestGaussianGuess(t *testing.T) {
	for _, mu := range []float64{0, .1, 1, 3} {
		if got, want := GaussianGuess(mu), (1+GaussianDelta(mu, 0))/2; math.Abs(got-want) > 1e-14 {
			t.Errorf("GaussianGuess(%g) = %g, want (1 + δ(0))/2 = %g", mu, got, want)
		}
	}
}

// The privacy loss must exceed the result with exactly the given probability. The result must be at
// least the ε at which δ(ε) is this probability.
func TestGaussianOdds(t *testing.T) {
	for _, mu := range []float64{.01, .5, 2, 10} {
		for _, probability := range []float64{1e-12, 1e-5, .1} {
			loss := GaussianOdds(mu, probability)
			if got := normalCDF((mu*mu/2 - loss) / mu); math.Abs(got/probability-1) > 1e-6 {
				t.Errorf("μ = %g: the odds move by more with probability %g, want %g", mu, got, probability)
			}
			if epsilon := GaussianEpsilon(mu, probability); loss < epsilon {
				t.Errorf("μ = %g: %g is below ε = %g", mu, loss, epsilon)
			}
		}
	}
}

// millsSlopes and millsSlope must return the same bits. The test tries both sides of the point
// where the formula changes, infinities and NaN.
func TestMillsSlopes(t *testing.T) {
	for _, x := range [][4]float64{
		{-3, -2, 2, 2.4},
		{2.4, 2.49, 2.5, 2.6},
		{2.5, 2.5, 2.6, 2.7},
		{3, 4, 5, 6},
		{6, 5, 4, 3},
		{40, 40 + 1e-9, 41, 80},
		{3, 1e9, 1e200, math.Inf(1)},
		{3, math.NaN(), math.Inf(1), 4},
	} {
		got := x
		millsSlopes(&got)
		for i := range x {
			want := millsSlope(x[i])
			if both := math.IsNaN(want) && math.IsNaN(got[i]); got[i] != want && !both {
				t.Errorf("at %g: %g, want %g", x[i], got[i], want)
			}
		}
	}
}
