package special

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The references are sums of probabilities, and another library for the gamma distribution.
func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bySum := func(z float64, probability func(k float64) float64) float64 {
		u, k := Phi(z), 0.0
		for sum := probability(0); sum < u && k < 2000; sum += probability(k) {
			k++
		}
		return k
	}
	for range 2000 {
		z := r.NormFloat64()
		mean := math.Exp(8*r.Float64() - 3)
		if got, want := PoissonQuantile(mean, z), bySum(z, distuv.Poisson{Lambda: mean}.Prob); got != want {
			t.Errorf("Poisson %g, z = %g: %g, not %g", mean, z, got, want)
		}
		n, p := float64(1+r.IntN(300)), r.Float64()
		if got, want := BinomialQuantile(n, p, z), bySum(z, distuv.Binomial{N: n, P: p}.Prob); got != want {
			t.Errorf("binomial %g, %g, z = %g: %g, not %g", n, p, z, got, want)
		}
		shape := math.Exp(12*r.Float64() - 4)
		if got := (distuv.Gamma{Alpha: shape, Beta: 1}).CDF(GammaQuantile(shape, z)); math.Abs(got-Phi(z)) > 1e-9 {
			t.Errorf("gamma %g: probability %g, not %g", shape, got, Phi(z))
		}
	}
	below, above := GammaQuantile(1e8, 1.5), GammaQuantile(1e8+1, 1.5)
	if d := (above - below - 1) / below; math.Abs(d) > 1e-8 {
		t.Errorf("the approximation for large shapes differs by %g", d)
	}
	if m := 3e8; math.Abs((PoissonQuantile(m, 2)-m)/math.Sqrt(m)-2) > 1e-3 {
		t.Errorf("a large mean: %g", PoissonQuantile(m, 2))
	}
}

// The functions must return NaN or a number in the support, and must not search for long.
func FuzzQuantiles(f *testing.F) {
	for _, x := range [][3]float64{{1, .5, 0}, {0, 0, 40}, {1e9 - 1, 1 - 1e-16, -40}, {1e-300, 5e-324, 8}, {math.Inf(1), math.NaN(), -8}, {999999999, 1e-9, 38}} {
		f.Add(x[0], x[1], x[2])
	}
	f.Fuzz(func(t *testing.T, a, b, z float64) {
		if math.Abs(z) > 40 {
			return
		}
		if x := GammaQuantile(a, z); x < 0 {
			t.Errorf("gamma(%g, %g) = %g", a, z, x)
		}
		if x := PoissonQuantile(a, z); x < 0 || x != math.Trunc(x) && !math.IsNaN(x) {
			t.Errorf("Poisson(%g, %g) = %g", a, z, x)
		}
		if x := BinomialQuantile(math.Trunc(a), b, z); x < 0 || x > math.Trunc(a) || x != math.Trunc(x) && !math.IsNaN(x) {
			t.Errorf("binomial(%g, %g, %g) = %g", a, b, z, x)
		}
	})
}
