package accountant

import "testing"

var headline = Repeated{Poisson{0.01, 1, AddRemove}, 1000}

func benchmarkEpsilon(b *testing.B, e Event, method Method, delta float64) {
	p := account(b, e)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.EpsilonBy(method, delta); err != nil {
			b.Fatal(err)
		}
	}
}

// The benchmark should take at most 2 ms per operation.
func BenchmarkEpsilonByContour(b *testing.B) { benchmarkEpsilon(b, headline, Contour, 1e-5) }

// The benchmark should take at most 20 ms per operation.
func BenchmarkEpsilonCertified(b *testing.B) { benchmarkEpsilon(b, headline, LossDistribution, 1e-5) }

func BenchmarkEpsilonCertifiedLong(b *testing.B) {
	benchmarkEpsilon(b, Repeated{Poisson{0.001, 4, AddRemove}, 100_000}, LossDistribution, 1e-6)
}

// The benchmark should take at most 200 ms per operation.
func BenchmarkCalibrateNoiseCertified(b *testing.B) {
	for b.Loop() {
		if _, err := CalibrateNoise(Target{1, 1e-5}, func(sigma float64) (Event, error) {
			return Repeated{Poisson{0.01, sigma, AddRemove}, 1000}, nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// The orders are the same as in dp_accounting. An operation should take at most 1 ms.
func BenchmarkRenyiCurve(b *testing.B) {
	p := account(b, headline)
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
