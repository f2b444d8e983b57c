package dpmech_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// chiSquare returns the p-value of a χ² test that compares observed counts with expected ones. It
// merges cells with expected counts below 10 with their neighbours.
func chiSquare(observed, expected []float64) float64 {
	var statistic, o, e float64
	cells := 0
	for i := range expected {
		o += observed[i]
		e += expected[i]
		if e >= 10 {
			statistic += (o - e) * (o - e) / e
			cells++
			o, e = 0, 0
		}
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(statistic)
}

// rejectBelow is the p-value below which a statistical test in this package fails. It is thus the
// probability that a test rejects a correct sampler. Because seeds are fixed, a test that passes
// keeps passing.
const rejectBelow = 1e-5

func newGaussian(t testing.TB, sigma int64) dpmech.DiscreteGaussian {
	t.Helper()
	return newGaussianRatio(t, sigma, 1)
}

func newGaussianRatio(t testing.TB, num, den int64) dpmech.DiscreteGaussian {
	t.Helper()
	g, err := dpmech.NewDiscreteGaussianRatio(num, den)
	check(t, err)
	return g
}

func TestDiscreteGaussianRange(t *testing.T) {
	for _, sigma := range []int64{0, -1, dpmech.MaxSigma + 1} {
		if _, err := dpmech.NewDiscreteGaussian(sigma); err == nil {
			t.Errorf("σ = %d gives no error", sigma)
		}
	}
}

func TestStreams(t *testing.T) {
	once, again := seeded.Stream(1, "a", 2), seeded.Stream(1, "a", 2)
	for range 1000 {
		if once.Uint64() != again.Uint64() {
			t.Fatal("two streams with one seed differ")
		}
	}
	first := map[uint64]string{}
	for name, s := range map[string]*dpmech.Stream{
		"seed": seeded.Stream(2, "a", 2), "purpose": seeded.Stream(1, "b", 2), "index": seeded.Stream(1, "a", 3),
		"length": seeded.Stream(1, "a", 2, 0), "base": seeded.Stream(1, "a", 2),
		"system": dpmech.NewStream(), "system again": dpmech.NewStream(),
	} {
		x := s.Uint64()
		if other, ok := first[x]; ok {
			t.Errorf("streams %q and %q begin alike", name, other)
		}
		first[x] = name
	}
	rekeyed := seeded.Stream(9, "z")
	rekeyed.Uint64()
	seeded.Rekey(rekeyed, 1, "a", 2)
	if rekeyed.Uint64() != seeded.Stream(1, "a", 2).Uint64() {
		t.Error("a rekeyed stream differs from the stream of its key")
	}
}

func TestUniform(t *testing.T) {
	src := seeded.Stream(3, "uniform")
	for _, n := range []uint64{1, 2, 3, 7, 100, 3 << 61} {
		observed, expected := make([]float64, 7), make([]float64, 7)
		const draws = 70_000
		for range draws {
			x := src.Uint64n(n)
			if x >= n {
				t.Fatalf("Uint64n(%d) = %d", n, x)
			}
			if n >= 7 {
				observed[int(float64(x)/float64(n)*7)]++
			} else {
				observed[x]++
			}
		}
		cells := min(n, 7)
		for i := range cells {
			expected[i] = draws / float64(cells)
		}
		if n == 100 { // the numbers below 100 do not divide evenly: the first seventh has the 15 numbers from 0 to 14, the second has 14, and so on
			for i, count := range []float64{15, 14, 14, 15, 14, 14, 14} {
				expected[i] = draws * count / 100
			}
		}
		if cells > 1 {
			if p := chiSquare(observed[:cells], expected[:cells]); p < rejectBelow {
				t.Errorf("n = %d: χ² rejects the uniform draw, p = %.2g", n, p)
			}
		}
	}
}

// Uint64n must be uniform for n = 3·2^61. Without rejection, the residues modulo three would not
// have equal probability: the residue two would have ¼ instead of ⅓.
func TestUniformResidues(t *testing.T) {
	src := seeded.Stream(5, "residues")
	const draws = 60_000
	observed := make([]float64, 3)
	for range draws {
		observed[src.Uint64n(3<<61)%3]++
	}
	if p := chiSquare(observed, []float64{draws / 3, draws / 3, draws / 3}); p < rejectBelow {
		t.Errorf("residues modulo 3 occur %v times: χ² rejects the uniform draw, p = %.2g", observed, p)
	}
}

func BenchmarkDiscreteGaussian(b *testing.B) {
	g := newGaussian(b, 1<<20)
	src := seeded.Stream(1, "bench")
	b.ReportAllocs()
	for b.Loop() {
		g.Sample(src)
	}
}

func BenchmarkDiscreteGaussianFill(b *testing.B) {
	g := newGaussian(b, 12_345_678)
	src := seeded.Stream(1, "bench")
	for _, n := range []int{14, 108, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dst := make([]int64, n)
			b.ReportAllocs()
			for b.Loop() {
				g.Fill(dst, src)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/sample")
		})
	}
}

func BenchmarkNewDiscreteGaussian(b *testing.B) {
	for sigma := int64(1 << 23); b.Loop(); sigma++ {
		newGaussian(b, sigma)
	}
}
