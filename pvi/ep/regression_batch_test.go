package ep

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/study"
)

// Sites computes the same site for a record in any batch.
func TestSitesAreThoseOfEachRecord(t *testing.T) {
	for _, family := range []study.Family{study.Probit, study.Logistic} {
		for _, name := range []string{"diagonal", "full"} {
			for _, power := range []float64{1, 0.5} {
				const d, n = 7, 90
				r := outcomes(t, family, n, d, 3)
				of := familyOf(t, name, d)
				tilted := NewRegression(r, of, power, 0.7)
				c := newCavity(of)
				copy(c.Natural, unit(of))
				c.Natural[0] = 0.3
				if !c.solve() {
					t.Fatal("a cavity that is not proper")
				}
				tilted.Set(&c.Approximation)
				random := rand.New(rand.NewPCG(1, 2))
				records := make([]uint32, 3*together+5)
				for i := range records {
					records[i] = random.Uint32N(n)
				}
				size := tilted.Size()
				all, one := make([]float64, len(records)*size), make([]float64, size)
				tilted.Sites(all, records)
				for i, record := range records {
					tilted.Site(one, int(record))
					for j, x := range one {
						if math.Float64bits(x) != math.Float64bits(all[i*size+j]) {
							t.Fatalf("%s, %s, power %g: element %d of record %d is %v if computed alone, and %v in a batch", family, name, power, j, record, x, all[i*size+j])
						}
					}
				}
			}
		}
	}
}

// The memory of a client and of a step does not grow with the number of records, except for one
// byte each in the sampler. The mean batch size is the same.
func TestMemoryDoesNotGrowWithRecords(t *testing.T) {
	const d, batch = 6, 50.0
	for _, name := range []string{"diagonal", "full"} {
		memory := func(n int) (heap, state int) {
			r := outcomes(t, study.Probit, n, d, 1)
			family := familyOf(t, name, d)
			m := sampled(t, dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: batch / float64(n)}, Records: n, Steps: 3, Dim: family.Size(), Clip: 2, NoiseMultiplier: 2})
			sampler := allocated(func() {
				streams := &dpmech.Streams{Sampling: seeded.Stream(1, "batch"), Noise: seeded.Stream(1, "noise")}
				if err := m.Begin().Next(make([]int64, family.Size()), streams, func([]uint32, *dpmech.Accumulator) error { return nil }); err != nil {
					t.Fatal(err)
				}
			})
			var s *DPSEP
			var err error
			all := allocated(func() {
				if s, err = NewDPSEP(NewRegression(r, family, 1, 1), m, sepOptions(n, batch/float64(n)), 3); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Propose(make([]float64, family.Size()), asked(s), seeded.Stream(1, "visit")); err != nil {
					t.Fatal(err)
				}
			})
			return int(all) - int(sampler), len(s.State())
		}
		few, small := memory(1_000)
		many, large := memory(50_000)
		if many > few+few/8 {
			t.Errorf("%s: %d bytes for 50,000 records, %d for 1,000", name, many, few)
		}
		// numbers in the states may differ in length
		if max(large-small, small-large) > 64 {
			t.Errorf("%s: a state of %d bytes for 50,000 records, of %d for 1,000", name, large, small)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
