package dpmech_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// On the scale of σ, samples must be normal. The test counts them in a thousand cells of equal
// probability.
func TestSlicedFrequencies(t *testing.T) {
	long(t)
	const draws, cells = 2_000_000, 1000
	for _, sigma := range []uint64{1 << 20, 1_200_003} {
		g := dpmech.NewSliced(sigma)
		samples := make([]int64, draws)
		src := seeded.Stream(21, "sliced", sigma)
		for rest := samples; len(rest) > 0; { // calls Fill for different numbers of samples
			n := min(len(rest), 1+int(src.Uint64n(700)))
			g.Fill(rest[:n], src)
			rest = rest[n:]
		}
		observed, expected := make([]float64, cells), slices.Repeat([]float64{draws / cells}, cells)
		var sum, squares float64
		for _, x := range samples {
			z := float64(x) / float64(sigma)
			sum, squares = sum+z, squares+z*z
			observed[min(cells-1, int(cells*distuv.UnitNormal.CDF(z)))]++
		}
		if p := chiSquare(observed, expected); p < rejectBelow {
			t.Errorf("σ = %d: χ² rejects the sampler, p = %.2g", sigma, p)
		}
		// The limits are five standard errors. The standard errors of the mean and of the mean
		// square are 1/√n and √2/√n for n draws.
		if se := 1 / math.Sqrt(draws); math.Abs(sum/draws) > 5*se || math.Abs(squares/draws-1) > 5*math.Sqrt2*se {
			t.Errorf("σ = %d: mean %.5f and variance %.5f", sigma, sum/draws, squares/draws)
		}
	}
}

// Within slices, samples must be normal too, whereas the rectangles alone would be uniform. Between
// σ and 3σ, the test counts the samples in the lower and the upper halves of the slices, and
// compares the counts with the normal density.
func TestSlicedWithinSlices(t *testing.T) {
	long(t)
	const draws, atOnce = 32_000_000, 4000
	place := int64(dpmech.SlicePlaces)
	for _, sigma := range []uint64{1 << 20, 1_200_003} {
		g := dpmech.NewSliced(sigma)
		from, to := int64(sigma)/place*place, int64(3*sigma)/place*place
		src := seeded.Stream(22, "sliced", sigma)
		samples := make([]int64, atOnce)
		var halves [2]float64
		for range draws / atOnce {
			g.Fill(samples, src)
			for _, x := range samples {
				if at := max(x, -x-1); at >= from && at < to {
					halves[at%place*2/place]++
				}
			}
		}
		var want [2]float64
		for at := from; at < to; at += place / 2 {
			a, b := float64(at)/float64(sigma), float64(at+place/2)/float64(sigma)
			want[at%place*2/place] += distuv.UnitNormal.CDF(b) - distuv.UnitNormal.CDF(a)
		}
		total := halves[0] + halves[1]
		share := want[0] / (want[0] + want[1])
		if sd := math.Sqrt(total * share * (1 - share)); math.Abs(halves[0]-total*share) > 4.5*sd || total*(share-0.5) < 6*sd {
			t.Errorf("σ = %d: %.0f and %.0f in the halves of slices, want a share of %.5f", sigma, halves[0], halves[1], share)
		}
	}
}

func BenchmarkSliced(b *testing.B) {
	g := dpmech.NewSliced(1_500_000)
	dst := make([]int64, 384)
	src := seeded.Stream(1, "bench")
	for b.Loop() {
		g.Fill(dst, src)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/sample")
}
