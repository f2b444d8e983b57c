package dpmech_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func BenchmarkNormal(b *testing.B) {
	dst := make([]float64, 4096)
	perNumber := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/normal")
	}
	b.Run("FillNormal", func(b *testing.B) {
		src := seeded.Stream(1, "bench")
		b.ReportAllocs()
		for b.Loop() {
			dpmech.FillNormal(dst, src)
		}
		perNumber(b)
	})
	for name, source := range map[string]rand.Source{"ChaCha8": rand.NewChaCha8([32]byte{}), "PCG": rand.NewPCG(1, 2)} {
		b.Run("math/rand/v2 "+name, func(b *testing.B) {
			src := rand.New(source)
			for b.Loop() {
				for i := range dst {
					dst[i] = src.NormFloat64()
				}
			}
			perNumber(b)
		})
	}
}

// normals draws n numbers by calling FillNormal with slices of different lengths.
func normals(n int, index uint64) []float64 {
	src := seeded.Stream(7, "normals", index)
	all := make([]float64, n)
	for from, length := 0, 1; from < n; length = length%1000 + 37 {
		to := min(n, from+length)
		dpmech.FillNormal(all[from:to], src)
		from = to
	}
	return all
}

// The test counts the numbers in cells of equal probability. It also counts their last digits,
// because a sampler with few distinct values would prefer some of them.
func TestNormalCells(t *testing.T) {
	const draws, cells = 2_000_000, 1000
	observed, expected := make([]float64, cells), make([]float64, cells)
	low := make([]float64, 256)
	for _, x := range normals(draws, 1) {
		observed[min(cells-1, int(cells*distuv.UnitNormal.CDF(x)))]++
		_, fraction := math.Modf(math.Abs(x) * (1 << 40))
		low[int(fraction*256)]++
	}
	for i := range expected {
		expected[i] = draws / cells
	}
	if p := chiSquare(observed, expected); p < rejectBelow {
		t.Errorf("χ² rejects the normal cells, p = %.2g", p)
	}
	even := slices.Repeat([]float64{draws / 256.0}, 256)
	if p := chiSquare(low, even); p < rejectBelow {
		t.Errorf("χ² rejects the low bits, p = %.2g", p)
	}
}

// The test compares the empirical distribution function with the normal one. The largest distance,
// times √n, has Kolmogorov's distribution. It exceeds z with probability at most 2e^(−2z²).
func TestNormalKolmogorov(t *testing.T) {
	const draws = 1_000_000
	x := normals(draws, 2)
	slices.Sort(x)
	var distance float64
	for i, v := range x {
		p := distuv.UnitNormal.CDF(v)
		distance = max(distance, p-float64(i)/draws, float64(i+1)/draws-p)
	}
	if p := 2 * math.Exp(-2*draws*distance*distance); p < rejectBelow {
		t.Errorf("the distribution function is off by %.3g, p = %.2g", distance, p)
	}
}

func TestNormalMoments(t *testing.T) {
	const draws = 4_000_000
	var sums [9]float64
	x := normals(draws, 3)
	var neighbours float64
	for i, v := range x {
		power := 1.0
		for k := range sums {
			sums[k] += power
			power *= v
		}
		neighbours += v * x[(i+1)%draws]
	}
	double := []float64{1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395, 0, 135135, 0, 2027025} // moments E[x^k] of the normal distribution
	for k := 1; k < len(sums); k++ {
		// The limit is five standard errors. A correct sampler exceeds it once in 1.7 million
		// tests.
		se := math.Sqrt((double[2*k] - double[k]*double[k]) / draws)
		if got := sums[k] / draws; math.Abs(got-double[k]) > 5*se {
			t.Errorf("moment %d is %g, want %g ± %.2g", k, got, double[k], 5*se)
		}
	}
	if got := neighbours / draws; math.Abs(got) > 5/math.Sqrt(draws) {
		t.Errorf("neighbours have correlation %g", got)
	}
}

// On both sides, the test counts the samples beyond a threshold and compares the count with the
// normal probability. Some thresholds are in the tail, which has its own sampler, and some are just
// below it.
func TestNormalTails(t *testing.T) {
	long(t)
	const draws = 8_000_000
	edges := []float64{2.5, 3, 3.4, 3.6, 3.6541528853610088, 3.7, 3.8, 4, 4.3, 4.7}
	counts := make([]float64, 2*len(edges))
	var far int
	dst := make([]float64, 10_000)
	src := seeded.Stream(7, "tails")
	for range draws / len(dst) {
		dpmech.FillNormal(dst, src)
		for _, x := range dst {
			at, found := slices.BinarySearch(edges, math.Abs(x))
			if found {
				at++
			}
			if at == 0 {
				continue
			}
			if x < 0 {
				at += len(edges)
			}
			counts[at-1]++
			if math.Abs(x) > 4.7 {
				far++
			}
		}
	}
	expected := make([]float64, len(counts))
	for i, edge := range edges {
		p := distuv.UnitNormal.Survival(edge)
		if i+1 < len(edges) {
			p -= distuv.UnitNormal.Survival(edges[i+1])
		}
		expected[i], expected[i+len(edges)] = p*draws, p*draws
	}
	if p := chiSquare(counts, expected); p < rejectBelow {
		t.Errorf("χ² rejects the tails, p = %.2g: %.0f, want %.0f", p, counts, expected)
	}
	if far == 0 {
		t.Error("no sample is beyond 4.7")
	}
}

func TestNormalRepeats(t *testing.T) {
	if !slices.Equal(normals(5000, 4), normals(5000, 4)) {
		t.Error("two fills with one seed differ")
	}
	dst := make([]float64, 1000)
	src := seeded.Stream(7, "allocations")
	if n := testing.AllocsPerRun(100, func() { dpmech.FillNormal(dst, src) }); n != 0 {
		t.Errorf("a fill allocates %v times", n)
	}
}
