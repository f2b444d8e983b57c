package dpmech_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// persons returns the rows of 40 persons. Each has up to four rows of two numbers. starts tells
// which rows belong to a person, as in SampledConfig.Rows. x has the numbers.
func persons() (starts []int32, x []float64) {
	r := rand.New(rand.NewPCG(27, 3))
	starts = []int32{0}
	for range 40 {
		starts = append(starts, starts[len(starts)-1]+int32(r.IntN(5)))
	}
	for range 2 * starts[40] {
		x = append(x, 3*r.NormFloat64())
	}
	return starts, x
}

// adders returns queries that add the rows of a batch. Each uses a different method of the
// Accumulator.
func adders(x []float64) map[string]dpmech.SampledQuery {
	return map[string]dpmech.SampledQuery{
		"one by one": func(rows []uint32, sum *dpmech.Accumulator) error {
			var errs error
			for _, row := range rows {
				errs = errors.Join(errs, sum.Add(x[2*row:][:2]))
			}
			return errs
		},
		"vectors": func(rows []uint32, sum *dpmech.Accumulator) error {
			return sum.AddVectors(x[2*rows[0]:][:2*len(rows)])
		},
		"rows": func(rows []uint32, sum *dpmech.Accumulator) error {
			slopes, of := make([]float64, len(rows)), make([]int32, len(rows))
			for i, row := range rows {
				slopes[i], of[i] = 1, int32(row)
			}
			return sum.AddRows(slopes, of, x)
		},
	}
}

// For each person in the batch, a step must add the clipped sum of the person's rows. However many
// rows a person has, it then changes a sum by at most C. The test recomputes these sums from the
// sampler's batch and the noise. A batch must have all rows of a person or none.
func TestSampledPersons(t *testing.T) {
	starts, x := persons()
	for name, sampling := range samplings(40) {
		cfg := sampled
		cfg.Sampling, cfg.Records, cfg.Rows, cfg.Adjacency = sampling, 40, starts, accountant.ZeroOut
		cfg.Dim, cfg.Steps, cfg.NoiseMultiplier = 2, 20, 0.5
		s := newSampledSum(t, cfg)
		if s.Records() != 40 || s.Rows() != int(starts[40]) {
			t.Fatalf("%d records with %d rows", s.Records(), s.Rows())
		}
		for how, add := range adders(x) {
			run, sampler := s.Begin(), newSampler(t, sampling, 40)
			streams, copied := seeded.Streams(1, "persons"), seeded.Streams(1, "persons")
			noise := newGaussian(t, s.ShareSigma())
			dst, want := make([]int64, 2), make([]int64, 2)
			var batch []uint32
			for step := range cfg.Steps {
				batch = sampler.Next(batch[:0], copied.Sampling)
				noise.Fill(want, copied.Noise)
				for _, person := range batch {
					for i, n := range clippedSum(s, x[2*starts[person]:2*starts[person+1]]) {
						want[i] += n
					}
				}
				err := run.Next(dst, streams, func(rows []uint32, sum *dpmech.Accumulator) error {
					if len(rows) == 0 {
						return nil
					}
					return add(rows, sum)
				})
				for i, n := range want {
					if d := dst[i] - n; err != nil || d < -int64(len(batch)) || d > int64(len(batch)) {
						t.Fatalf("%s, %s: step %d releases %v, want %v (%v)", name, how, step, dst, want, err)
					}
				}
			}
		}
	}
}

// clippedSum returns one person's contribution: the sum of its vectors, clipped and truncated to
// the lattice. x has the vectors, one after the other, with two elements each.
func clippedSum(s *dpmech.SampledSum, x []float64) (sum [2]int64) {
	var v [2]float64
	for i, e := range x {
		v[i%2] += e
	}
	factor := math.Min(1, s.Clip()/math.Hypot(v[0], v[1]))
	for i, e := range v {
		if e != 0 {
			sum[i] = int64(e * factor / s.Lattice().Step())
		}
	}
	return sum
}

// If the sum of a person's rows is not finite, the person must add zero, and the sums of others
// must stay the same. If a query panics, the release must be noise alone.
func TestSampledPersonsWithoutASum(t *testing.T) {
	cfg := sampled
	cfg.Sampling, cfg.Records, cfg.Rows, cfg.Dim = dpmech.FullBatch{}, 3, []int32{0, 2, 2, 3}, 1
	s := newSampledSum(t, cfg)
	release := func(first float64, fail bool) int64 {
		dst := make([]int64, 1)
		err := s.Begin().Next(dst, seeded.Streams(1, "no sum"), func(rows []uint32, sum *dpmech.Accumulator) error {
			for _, row := range rows {
				v := 1.
				if row == 0 {
					v = first
				}
				if err := sum.Add([]float64{v}); err != nil {
					return err
				}
			}
			if fail {
				panic("a fault")
			}
			return nil
		})
		check(t, err)
		return dst[0]
	}
	one := int64(1 / s.Lattice().Step())
	none := release(0, true)
	// The clip is 2, and the third person adds 1, so the sum is 1 plus the clipped sum of the
	// first person.
	for first, want := range map[float64]int64{0: 2 * one, .5: one * 5 / 2, -3: -one, -9: -one, 1e308: 3 * one, math.Inf(1): one, math.Inf(-1): one, math.NaN(): one} {
		if got := release(first, false) - none; got < want-2 || got > want+2 {
			t.Errorf("with %g the sum is %d, want %d", first, got, want)
		}
	}
}

// A release with PerUnit vectors of one unit must cost as much as a release of one vector with
// PerUnit times the clip and the same noise. For random batches, no such bound is known, so
// NewSampledSum must refuse them. It must also refuse rows that are not consecutive.
func TestPerUnit(t *testing.T) {
	config := dpmech.Config{Dim: 3, Clip: 2, NoiseMultiplier: 6, Shares: 2, Terms: 100, Releases: 5, Adjacency: accountant.ReplaceOne, PerUnit: 4}
	event := func(c dpmech.Config) accountant.DiscreteGaussian {
		return newSum(t, c).Event().(accountant.DiscreteGaussian)
	}
	got := event(config)
	config.PerUnit = 0
	single := event(config)
	if got.Sensitivity != 4*single.Sensitivity || got.Sigma != single.Sigma {
		t.Errorf("four vectors cost %+v, one costs %+v", got, single)
	}
	cfg := sampled
	cfg.Sampling, cfg.PerUnit = dpmech.FullBatch{}, 2
	s := newSampledSum(t, cfg)
	if got, want := epsilonOf(t, s.Event(), 1e-5), accountant.GaussianEpsilon(2*math.Sqrt(50)/1.5, 1e-5); math.Abs(got/want-1) > 1e-5 {
		t.Errorf("two records of a person cost ε = %g, want %g", got, want)
	}
	cfg = sampled
	cfg.PerUnit = 2
	if _, err := dpmech.NewSampledSum(cfg); err == nil || !strings.Contains(err.Error(), "no bound is known") {
		t.Errorf("two records of a person in random batches: %v", err)
	}
	cfg.PerUnit, cfg.Records = 0, 2
	for _, rows := range [][]int32{{}, {0}, {1, 2, 3}, {0, 2, 1}} {
		cfg.Rows = rows
		if _, err := dpmech.NewSampledSum(cfg); err == nil || !strings.Contains(err.Error(), "rows of the records") {
			t.Errorf("rows %v: %v", rows, err)
		}
	}
	config.PerUnit = -1
	if _, err := dpmech.NewGaussianSum(config); err == nil {
		t.Error("−1 vectors of a unit")
	}
}
