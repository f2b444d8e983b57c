package accountant

import "testing"

// headline returns the profile of a common example: Poisson samples at rate .01, noise
// multiplier 1 and 1000 steps.
func headline(b *testing.B) Profile {
	b.Helper()
	p, err := Account(Repeated{Poisson{0.01, 1, AddRemove}, 1000})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// The benchmark computes ε by the contour integral. It should take at most 2 ms per operation.
func BenchmarkEpsilonByContour(b *testing.B) {
	p := headline(b)
	for b.Loop() {
		if _, err := p.EpsilonBy(Contour, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

// The benchmark computes certified bounds on ε. It should take at most 20 ms per operation.
func BenchmarkEpsilonCertified(b *testing.B) {
	p := headline(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.EpsilonBy(LossDistribution, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

// The benchmark calibrates the noise multiplier. It should take at most 200 ms per operation.
func BenchmarkCalibrateNoiseCertified(b *testing.B) {
	for b.Loop() {
		if _, err := CalibrateNoise(Target{1, 1e-5}, func(sigma float64) (Event, error) {
			return Repeated{Poisson{0.01, sigma, AddRemove}, 1000}, nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// The benchmark computes the Rényi divergences at all orders that dp_accounting uses. It should
// take at most 1 ms per operation.
func BenchmarkRenyiCurve(b *testing.B) {
	p := headline(b)
	var orders []float64
	for k := 1; k < 100; k++ {
		orders = append(orders, 1+float64(k)/10)
	}
	for k := 11; k < 64; k++ {
		orders = append(orders, float64(k))
	}
	orders = append(orders, 128, 256, 512, 1024)
	for b.Loop() {
		p.RenyiCurve(orders)
	}
}

// The benchmark computes certified bounds on ε for 100 000 steps at rate .001.
func BenchmarkEpsilonCertifiedLong(b *testing.B) {
	p, err := Account(Repeated{Poisson{0.001, 4, AddRemove}, 100_000})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.EpsilonBy(LossDistribution, 1e-6); err != nil {
			b.Fatal(err)
		}
	}
}
