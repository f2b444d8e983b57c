package dpmech_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

var narrow = dpmech.Config{Dim: 3, Clip: 2, NoiseMultiplier: 1.5, Shares: 1, Terms: 4, Releases: 1, Adjacency: accountant.AddRemove}

// summed releases the sum of vectors with the mechanism m. It returns the exact sum and the
// released, noisy sum.
func summed(t rapid.TB, m *dpmech.GaussianSum, vectors [][]float64) (sum, noisy []int64) {
	sum, noisy = make([]int64, m.Dim()), make([]int64, m.Dim())
	check(t, m.Release(noisy, sum, seeded.Stream(1, "saturate"), adding(vectors...)))
	return sum, noisy
}

// adding returns a query that adds the vectors.
func adding(vectors ...[]float64) dpmech.Query {
	return func(add func([]float64) error) error {
		for _, v := range vectors {
			if err := add(v); err != nil {
				return err
			}
		}
		return nil
	}
}

func drawVectors(t *rapid.T, most int) [][]float64 {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(-1, 9), 3, 3), 0, most).Draw(t, "vectors")
}

// The test compares the sum of any number of vectors with that of a mechanism that has room for all
// of them. Each element must be that of the larger mechanism, limited to ±Terms·C, and the noise
// must be the same for both.
func TestSumsAreSaturated(t *testing.T) {
	wide := narrow
	wide.Terms = 100
	m, whole := newSum(t, narrow), newSum(t, wide)
	most := int64(math.Floor(narrow.Clip/m.Lattice().Step())) * int64(narrow.Terms)
	saturated := 0
	rapid.Check(t, func(t *rapid.T) {
		vectors := drawVectors(t, 40)
		sum, noisy := summed(t, m, vectors)
		exact, withNoise := summed(t, whole, vectors)
		for i, n := range exact {
			want := min(max(n, -most), most)
			if want != n {
				saturated++
			}
			if sum[i] != want || noisy[i]-sum[i] != withNoise[i]-exact[i] {
				t.Fatalf("element %d of the sum is %d, want %d, of %d; its noise %d, want %d", i, sum[i], want, n, noisy[i]-sum[i], withNoise[i]-exact[i])
			}
			if len(vectors) <= narrow.Terms && sum[i] != n {
				t.Fatalf("a sum of %d vectors is changed", len(vectors))
			}
		}
	})
	if saturated == 0 {
		t.Error("no sum was saturated")
	}
}

// However many vectors there are, adding one must change a sum by at most C in norm, and replacing
// one by at most 2C.
func TestSaturatedSumsKeepTheSensitivity(t *testing.T) {
	m := newSum(t, narrow)
	clip := narrow.Clip / m.Lattice().Step()
	rapid.Check(t, func(t *rapid.T) {
		vectors := drawVectors(t, 40)
		if len(vectors) == 0 {
			return
		}
		gone := rapid.IntRange(0, len(vectors)-1).Draw(t, "gone")
		with, _ := summed(t, m, vectors)
		without, _ := summed(t, m, slices.Delete(slices.Clone(vectors), gone, gone+1))
		vectors[gone] = []float64{rapid.Float64Range(-9, 9).Draw(t, "x"), 1, -1}
		other, _ := summed(t, m, vectors)
		for _, c := range []struct {
			to   []int64
			most float64
		}{{without, clip}, {other, 2 * clip}} {
			var squared float64
			for i, n := range with {
				squared += float64(n-c.to[i]) * float64(n-c.to[i])
			}
			if squared > c.most*c.most {
				t.Fatalf("sums of neighbours differ by %g steps, more than %g", math.Sqrt(squared), c.most)
			}
		}
	})
}

// The sum of a batch with more than Terms records must be within the range of a release.
func TestBatchesAreSaturated(t *testing.T) {
	s := newSampledSum(t, dpmech.SampledConfig{
		Sampling: dpmech.FullBatch{}, Records: 50, Steps: 1, Dim: 1, Clip: 1, NoiseMultiplier: 1,
		Shares: 2, Releases: 2, Terms: 3, Adjacency: accountant.AddRemove,
	})
	dst, noise := make([]int64, 1), make([]int64, 1)
	step := func(dst []int64, x float64) {
		check(t, s.Begin().Next(dst, seeded.Streams(1, "batch"), each([]float64{x})))
	}
	step(dst, 1)
	step(noise, 0)
	if got := s.Lattice().Float(dst[0] - noise[0]); got != 3 {
		t.Errorf("50 vectors add up to %g, want 3", got)
	}
}
