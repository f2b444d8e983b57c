package describe_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/describe"
)

// Vectors of all log densities, finite or not, have a norm of at most Norm, which some reach.
func TestVectorsOfScoresAreBounded(t *testing.T) {
	s := describe.NewScores(-7, 2)
	v, longest := make([]float64, s.Size()), 0.
	for _, log := range []float64{math.Inf(-1), -math.MaxFloat64, -1e9, -8, 1e9, math.MaxFloat64, math.Inf(1)} {
		s.Vector(v, log)
		longest = max(longest, floats.Norm(v, 2))
	}
	for x := -9.; x < 4; x += 1. / 512 {
		s.Vector(v, x)
		longest = max(longest, floats.Norm(v, 2))
	}
	if !(longest <= s.Norm()*(1+1e-15)) || longest < s.Norm()*.999 {
		t.Errorf("the longest vector has norm %g, the bound is %g", longest, s.Norm())
	}
}

// Without noise, estimates equal the statistics of the records. With noise, about 95 % of the 95 %
// intervals contain these, and the errors of means have the stated sd.
func TestScoresAreEstimated(t *testing.T) {
	const low, high, n, noise, samples = -6., 1., 400, 5., 2000
	r := rand.New(rand.NewPCG(7, 7))
	s := describe.NewScores(low, high)
	draw := func() float64 { return -1.5 + 2*r.NormFloat64() } // in and beyond the range
	var expected float64
	for range 1_000_000 {
		expected += min(max(draw(), low), high) / 1_000_000
	}
	held, of, z2 := 0, 0, 0.
	for k := range samples {
		sum, vector := make([]float64, s.Size()), make([]float64, s.Size())
		var total, below, above float64
		for range n {
			log := draw()
			s.Vector(vector, log)
			floats.Add(sum, vector)
			if total += min(max(log, low), high); log < low {
				below++
			} else if log > high {
				above++
			}
		}
		if k == 0 {
			exact := s.Estimate(sum, 1e-9, 2, .95)
			for got, want := range map[float64]float64{
				exact.Records.Estimate: n, exact.ELPD.Estimate: total, exact.Mean.Estimate: total / n,
				exact.Below.Estimate: below / n, exact.Above.Estimate: above / n, exact.Low: low, exact.High: high, exact.NoiseSD: s.CountSD(1e-9),
			} {
				if math.Abs(got-want) > 1e-6 {
					t.Errorf("without noise: %g, want %g", got, want)
				}
			}
		}
		for i := range sum {
			sum[i] += noise * r.NormFloat64()
		}
		got := s.Estimate(sum, noise, 2, .95)
		for _, one := range []struct {
			of    describe.Value
			truth float64
		}{{got.Records, n}, {got.ELPD, total}, {got.Mean, total / n}, {got.Below, below / n}, {got.Above, above / n}} {
			if of++; one.of.Low <= one.truth && one.truth <= one.of.High {
				held++
			}
		}
		z := (got.Mean.Estimate - expected) / got.MeanSE
		z2 += z * z / samples
	}
	if share, rms := float64(held)/float64(of), math.Sqrt(z2); math.Abs(share-.95) > .012 || math.Abs(rms-1) > .06 {
		t.Errorf("95 %% intervals hold %.3f of %d numbers, and the rms error of the mean is %.3f standard errors", share, of, rms)
	}
}

// If noise makes the number of records negative, the mean has no estimate. If the number is small
// compared with its noise, the standard error of the mean is at least the width of the range.
func TestScoresOfNoise(t *testing.T) {
	s := describe.NewScores(-6, 0)
	none := s.Estimate([]float64{-3, 1, 1, 0, 0}, 10, 2, .95)
	if !none.Mean.IntervalOnly || none.Mean.Low != -6 || none.Mean.High != 0 || none.MeanSE != 0 || !(none.ELPDSE > 0) {
		t.Errorf("a negative number of records: %+v", none)
	}
	few := s.Estimate([]float64{3, 1, 1, 0, 0}, 10, 2, .95)
	if few.Mean.IntervalOnly || few.MeanSE < 6 {
		t.Errorf("fewer records than noise: %+v", few)
	}
}

// If the noise is at least as large as the number of held-out records, at most 7 % of the means are
// wrong by more than two standard errors, anywhere in the range.
func TestScoresOfFewRecords(t *testing.T) {
	const noise, samples = 50, 20_000
	r := rand.New(rand.NewPCG(20_001, 8))
	s := describe.NewScores(-6, 1)
	vector := make([]float64, s.Size())
	for _, log := range []float64{-99, -6, -2.5, 0, 99} {
		for _, n := range []float64{1, 5, 20, 50} {
			s.Vector(vector, log)
			far, estimates := 0., 0.
			for range samples {
				sum := make([]float64, len(vector))
				for i, x := range vector {
					sum[i] = n*x + noise*r.NormFloat64()
				}
				got := s.Estimate(sum, noise, 2, .95)
				if got.Mean.IntervalOnly {
					continue
				}
				if estimates++; math.Abs(got.Mean.Estimate-min(max(log, -6), 1)) > 1.96*got.MeanSE {
					far++
				}
			}
			if share := far / estimates; share > .07 {
				t.Errorf("%g records with log density %g: the mean is two standard errors off in %.3f of the studies", n, log, share)
			}
		}
	}
}
