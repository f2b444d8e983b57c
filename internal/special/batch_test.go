package special

import (
	"math"
	"math/rand"
	"testing"
)

// Finite results must agree to a few units in the last place, and all other results must be equal.
func TestBatchAgainstMath(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		name string
		all  func(dst, x []float64)
		one  func(float64) float64
		draw func() float64
		tol  float64
	}{
		{"exp", ExpAll, math.Exp, func() float64 { return 740 * (2*rng.Float64() - 1) }, 5e-16},
		{"exp near 0", ExpAll, math.Exp, func() float64 { return rng.NormFloat64() }, 5e-16},
		{"log", LogAll, math.Log, func() float64 { return math.Exp(700 * (2*rng.Float64() - 1)) }, 4e-16},
		{"log near 1", LogAll, math.Log, func() float64 { return 1 + .02*rng.NormFloat64() }, 4e-16},
		{"log1p", Log1pAll, math.Log1p, rng.Float64, 5e-16},
		{"log1p small", Log1pAll, math.Log1p, func() float64 { return math.Exp(-700 * rng.Float64()) }, 5e-16},
		{"log1p large", Log1pAll, math.Log1p, func() float64 { return math.Exp(700 * rng.Float64()) }, 5e-16},
		{"tanh", TanhAll, math.Tanh, func() float64 { return 3 * rng.NormFloat64() }, 1e-15},
		{"tanh small", TanhAll, math.Tanh, func() float64 { return math.Exp(-30*rng.Float64()) * (2*rng.Float64() - 1) }, 1e-15},
		{"tanh large", TanhAll, math.Tanh, func() float64 { return 1e3 * rng.NormFloat64() }, 1e-15},
		{"softplus", first(SoftplusAll), Softplus, func() float64 { return 20 * rng.NormFloat64() }, 1e-15},
		{"softplus far", first(SoftplusAll), Softplus, func() float64 { return 500 * rng.NormFloat64() }, 1e-15},
		{"inv_logit", second(SoftplusAll), InvLogit, func() float64 { return 20 * rng.NormFloat64() }, 1e-15},
		{"inv_logit far", second(SoftplusAll), InvLogit, func() float64 { return 500 * rng.NormFloat64() }, 1e-15},
	} {
		worst := 0.
		x, y := make([]float64, 64), make([]float64, 64)
		for range 4000 {
			for i := range x {
				x[i] = c.draw()
			}
			c.all(y, x)
			for i := range x {
				if want := c.one(x[i]); y[i] != want {
					worst = max(worst, math.Abs(y[i]-want)/math.Max(math.Abs(want), 0x1p-1022))
				}
			}
		}
		t.Logf("%s: %.2g", c.name, worst)
		if !(worst <= c.tol) {
			t.Errorf("%s: relative error %g", c.name, worst)
		}
	}
	edges := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, math.MaxFloat64, 709.79, -745.2, 2, .5, 0x1p-1022, 1e-310}
	out := make([]float64, len(edges))
	for _, c := range []struct {
		all func(dst, x []float64)
		one func(float64) float64
	}{{ExpAll, math.Exp}, {LogAll, math.Log}, {Log1pAll, math.Log1p}, {TanhAll, math.Tanh}, {first(SoftplusAll), Softplus}, {second(SoftplusAll), InvLogit}} {
		c.all(out, edges)
		for i, x := range edges {
			want := c.one(x)
			if out[i] != want && !(math.IsNaN(out[i]) && math.IsNaN(want)) && !(math.Abs(out[i]-want) <= 5e-16*math.Abs(want)) {
				t.Errorf("at %g: %g, want %g", x, out[i], want)
			}
		}
	}
}

func first(f func(a, b, x []float64)) func(dst, x []float64) {
	return func(dst, x []float64) { f(dst, make([]float64, len(x)), x) }
}

func second(f func(a, b, x []float64)) func(dst, x []float64) {
	return func(dst, x []float64) { f(make([]float64, len(x)), dst, x) }
}

func BenchmarkExpAll(b *testing.B)   { bench(b, ExpAll) }
func BenchmarkLogAll(b *testing.B)   { bench(b, LogAll) }
func BenchmarkLog1pAll(b *testing.B) { bench(b, Log1pAll) }

func BenchmarkTanhAll(b *testing.B) { bench(b, TanhAll) }
func BenchmarkMathExp(b *testing.B) {
	bench(b, func(dst, x []float64) {
		for i, v := range x {
			dst[i] = math.Exp(v)
		}
	})
}

func bench(b *testing.B, f func(dst, x []float64)) {
	x, y := make([]float64, 64), make([]float64, 64)
	for i := range x {
		x[i] = float64(i) / 64
	}
	for b.Loop() {
		f(y, x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/element")
}

func TestInvLogitAll(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 1, -1, 30, -30, 800, -800, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324}
	for i := range 2000 {
		x = append(x, 20*math.Sin(float64(i)))
	}
	soft, want, got := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	SoftplusAll(soft, want, x)
	InvLogitAll(got, x)
	for i := range x {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Errorf("InvLogitAll(%g) is %g, but SoftplusAll returns the probability %g", x[i], got[i], want[i])
		}
	}
}

// An element must give the same bits at any position in a slice of any length.
func TestElementsAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 708, -708, 709, -745, 5e-324, math.Nextafter(708, 0)}
	for _, f := range []struct {
		name string
		all  func(dst, x []float64)
	}{{"exp", ExpAll}, {"inv_logit", InvLogitAll}} {
		for size := range 40 {
			for range 50 {
				x := make([]float64, size)
				for i := range x {
					x[i] = math.Exp(5*rng.NormFloat64()) * (2*rng.Float64() - 1)
					if rng.Intn(20) == 0 {
						x[i] = odd[rng.Intn(len(odd))]
					}
				}
				got, want := make([]float64, size), make([]float64, size)
				f.all(got, x)
				for i := range x {
					f.all(want[i:i+1], x[i:i+1])
					if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
						t.Fatalf("%s(%g) is %v among %d, %v by itself", f.name, x[i], got[i], size, want[i])
					}
				}
			}
		}
	}
}
