package dpmech_test

import (
	"fmt"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func newSampler(t testing.TB, s dpmech.Sampling, records int) dpmech.Sampler {
	t.Helper()
	sampler, err := s.Sampler(records)
	if err != nil {
		t.Fatal(err)
	}
	return sampler
}

// checkBatch fails unless batch is what any sampler may return.
func checkBatch(t testing.TB, s dpmech.Sampler, batch []uint32) {
	t.Helper()
	if len(batch) > s.MaxBatch() {
		t.Fatalf("a batch has %d records, more than %d", len(batch), s.MaxBatch())
	}
	seen := make(map[uint32]bool, len(batch))
	for _, i := range batch {
		if int(i) >= s.Records() || seen[i] {
			t.Fatalf("record %d of %d is out of range or there twice", i, s.Records())
		}
		seen[i] = true
	}
}

// samplings of n records, every kind and selection, from none to all.
func samplings(n int) map[string]dpmech.Sampling {
	all := map[string]dpmech.Sampling{"full": dpmech.FullBatch{}}
	for _, selection := range []dpmech.Selection{dpmech.Exact, dpmech.Feistel} {
		for _, rate := range []float64{0, 0.1, 0.37, 0.5, 0.8, 1} {
			all[fmt.Sprintf("poisson %g %v", rate, selection)] = dpmech.Poisson{Rate: rate, Selection: selection}
		}
		for _, batch := range []int{0, 1, n / 5, n / 2, n/2 + 1, n - 1, n} {
			all[fmt.Sprintf("fixed %d %v", batch, selection)] = dpmech.WithoutReplacement{Batch: batch, Selection: selection}
		}
	}
	for _, steps := range []int{1, 2, 7} {
		all[fmt.Sprintf("allocation %d", steps)] = dpmech.RandomAllocation{Steps: steps, Picks: 1}
		all[fmt.Sprintf("allocation %d of %d", (steps+1)/2, steps)] = dpmech.RandomAllocation{Steps: steps, Picks: (steps + 1) / 2}
		all[fmt.Sprintf("permutation %d", steps)] = dpmech.Permutation{Batches: min(steps, n)}
	}
	return all
}

func TestBatchesAreSets(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000} {
		for name, sampling := range samplings(n) {
			sampler := newSampler(t, sampling, n)
			src := seeded.Stream(1, name, uint64(n))
			var batch []uint32
			for range 20 {
				batch = sampler.Next(batch[:0], src)
				checkBatch(t, sampler, batch)
			}
		}
	}
}

// Every record is in as many batches of an epoch as it should be.
func TestEpochs(t *testing.T) {
	for _, n := range []int{1, 2, 10, 997} {
		for _, c := range []struct {
			sampling dpmech.Sampling
			picks    int
		}{
			{dpmech.RandomAllocation{Steps: 9, Picks: 1}, 1},
			{dpmech.RandomAllocation{Steps: 9, Picks: 4}, 4},
			{dpmech.RandomAllocation{Steps: 9, Picks: 9}, 9},
			{dpmech.Permutation{Batches: min(n, 9)}, 1},
			{dpmech.Permutation{Batches: n}, 1},
		} {
			sampler := newSampler(t, c.sampling, n)
			src := seeded.Stream(2, "epochs", uint64(n))
			for range 3 {
				times := make([]int, n)
				for range sampler.Steps() {
					batch := sampler.Next(nil, src)
					checkBatch(t, sampler, batch)
					for _, i := range batch {
						times[i]++
					}
				}
				if least, most := slices.Min(times), slices.Max(times); least != c.picks || most != c.picks {
					t.Errorf("%#v: records are in %d to %d batches of an epoch, want %d", c.sampling, least, most, c.picks)
				}
			}
		}
	}
}

var sampled = dpmech.SampledConfig{
	Sampling: dpmech.Poisson{Rate: 0.1}, Records: 200, Steps: 50,
	Dim: 3, Clip: 2, NoiseMultiplier: 1.5, Adjacency: accountant.AddRemove,
}

func newSampledSum(t testing.TB, cfg dpmech.SampledConfig) *dpmech.SampledSum {
	t.Helper()
	s, err := dpmech.NewSampledSum(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSampledSumSteps(t *testing.T) {
	run := newSampledSum(t, sampled).Begin()
	streams := seeded.Streams(1, "sampled")
	dst := make([]int64, 3)
	for range sampled.Steps {
		err := run.Next(dst, streams, func(batch []uint32, sum *dpmech.Accumulator) error {
			for range batch {
				if err := sum.Add([]float64{1, 2, 3}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
