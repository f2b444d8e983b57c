package dpmech_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// planned returns a mechanism for which plans can be made.
func planned(t testing.TB, sampling dpmech.Sampling, records, steps, dim int) *dpmech.SampledSum {
	t.Helper()
	return newSampledSum(t, dpmech.SampledConfig{
		Sampling: sampling, Records: records, Steps: steps, Dim: dim, Clip: 1.5, NoiseMultiplier: 2, Adjacency: accountant.ReplaceOne,
	})
}

func newPlan(t testing.TB, m *dpmech.SampledSum, steps int, index uint64) *dpmech.Plan {
	t.Helper()
	p, err := m.Begin().Plan(steps, seeded.Streams(5, "plan", index), seeded.Stream(5, "plan, draws", index))
	check(t, err)
	return p
}

func TestPlanUsesStepsUp(t *testing.T) {
	m := planned(t, dpmech.FullBatch{}, 3, 5, 2)
	run := m.Begin()
	streams, draws := seeded.Streams(1, "uses"), seeded.Stream(1, "uses, draws")
	p, err := run.Plan(4, streams, draws)
	check(t, err)
	if run.Remaining() != 1 || p.Steps() != 4 || p.Remaining() != 4 || p.Mechanism() != m {
		t.Errorf("of 5 steps 4 are in a plan, %d are left, and %d of the plan", run.Remaining(), p.Remaining())
	}
	for _, steps := range []int{-1, 0, 2} {
		if _, err := run.Plan(steps, streams, draws); !errors.Is(err, dpmech.ErrNoSteps) {
			t.Errorf("a plan of %d steps where one is left: %v", steps, err)
		}
	}
	dst := make([]int64, 2)
	for range 4 {
		check(t, p.Next(dst, each([]float64{0, 0})))
	}
	if err := p.Next(dst, each([]float64{0, 0})); !errors.Is(err, dpmech.ErrNoSteps) {
		t.Errorf("a fifth step of four: %v", err)
	}
	p, err = run.Plan(1, streams, draws)
	check(t, err)
	p.Wipe()
	if err := p.Next(dst, each([]float64{0, 0})); !errors.Is(err, dpmech.ErrNoSteps) {
		t.Errorf("a step of a wiped plan: %v", err)
	}
}

func TestPlansOfSamplings(t *testing.T) {
	streams, draws := seeded.Streams(1, "samplings"), seeded.Stream(1, "samplings, draws")
	for _, c := range []struct {
		sampling  dpmech.Sampling
		adjacency accountant.Adjacency
		can       bool
	}{
		{dpmech.FullBatch{}, accountant.ReplaceOne, true},
		{dpmech.Poisson{Rate: 0.2, Selection: dpmech.Feistel}, accountant.ReplaceOne, true},
		{dpmech.WithoutReplacement{Batch: 3, Selection: dpmech.Feistel}, accountant.ReplaceOne, true},
		{dpmech.Poisson{Rate: 0.2}, accountant.ReplaceOne, true},
		{dpmech.WithoutReplacement{Batch: 3}, accountant.ReplaceOne, true},
		{dpmech.RandomAllocation{Steps: 2, Picks: 1}, accountant.AddRemove, false},
	} {
		run := newSampledSum(t, dpmech.SampledConfig{
			Sampling: c.sampling, Records: 20, Steps: 2, Dim: 3, Clip: 1.5, NoiseMultiplier: 2, Adjacency: c.adjacency,
		}).Begin()
		if _, err := run.Plan(1, streams, draws); (err == nil) != c.can {
			t.Errorf("a plan of %T: %v", c.sampling, err)
		}
		if left := map[bool]int{true: 1, false: 2}[c.can]; run.Remaining() != left {
			t.Errorf("%T: %d steps left, want %d", c.sampling, run.Remaining(), left)
		}
	}
	run := planned(t, dpmech.Poisson{Rate: 0.5}, 1<<22, 9, 3).Begin()
	if _, err := run.Plan(9, streams, draws); err == nil || run.Remaining() != 9 {
		t.Errorf("a list of nine times 2^21 records: %v", err)
	}
	if _, err := run.Plan(8, streams, draws); err != nil {
		t.Error(err)
	}
	if _, err := planned(t, dpmech.FullBatch{}, 1, 1, 1<<14+1).Begin().Plan(1, streams, draws); err == nil {
		t.Error("a plan of vectors for which the margins are too small")
	}
}

// The batches of a plan's steps must have the sampler's distribution, and their sums must be the
// same as those of a GaussianSum. The noise must have the right distribution, independently for
// each coordinate and step.
func TestPlannedSteps(t *testing.T) {
	const steps, dim, records = 400, 37, 30
	m := planned(t, dpmech.Poisson{Rate: 0.3, Selection: dpmech.Feistel}, records, steps, dim)
	p := newPlan(t, m, steps, 1)
	v := make([]float64, dim)
	v[3], v[5] = 30, -40 // a vector whose norm is far above the clip
	one := exactSum(t, newSum(t, dpmech.Config{
		Dim: dim, Clip: m.Clip(), NoiseMultiplier: m.NoiseMultiplier(), Shares: 1, Terms: 1, Releases: 1, Adjacency: m.Adjacency(),
	}), v)
	dst := make([]int64, dim)
	sigma := float64(m.ShareSigma())
	var noise []float64
	var sizes float64
	for range steps {
		batch := 0
		err := p.Next(dst, func(b []uint32, sum *dpmech.Accumulator) error {
			batch = len(b)
			return each(v)(b, sum)
		})
		check(t, err)
		sizes += float64(batch)
		for i, n := range dst {
			noise = append(noise, float64(n-int64(batch)*one[i])/sigma)
		}
	}
	mean, sd := records*0.3, math.Sqrt(records*0.3*0.7/steps)
	if got := sizes / steps; math.Abs(got-mean) > 5*sd {
		t.Errorf("batches have %g records on average, want %g within %g", got, mean, 5*sd)
	}
	checkNormal(t, noise)
}

// checkNormal rejects numbers unless they are independent and standard normal. It rejects correct
// numbers with a probability of 4·rejectBelow.
func checkNormal(t *testing.T, x []float64) {
	t.Helper()
	const cells = 100
	observed, n := make([]float64, cells), float64(len(x))
	var squares, products, apart float64
	for i, z := range x {
		observed[min(cells-1, int(cells*distuv.UnitNormal.CDF(z)))]++
		squares += z * z
		if i > 0 {
			products += z * x[i-1]
		}
		if i >= 37 {
			apart += z * x[i-37]
		}
	}
	if p := chiSquare(observed, slices.Repeat([]float64{n / cells}, cells)); p < rejectBelow {
		t.Errorf("χ² rejects the normal cells, p = %.2g", p)
	}
	far := -distuv.UnitNormal.Quantile(rejectBelow / 2)
	for name, z := range map[string]float64{
		"the variance":                     (squares/n - 1) / math.Sqrt(2/n),
		"the correlation with the last":    products / math.Sqrt(n),
		"the correlation with one further": apart / math.Sqrt(n),
	} {
		if math.Abs(z) > far {
			t.Errorf("%s is %g standard deviations off", name, z)
		}
	}
}

func TestNormalsOfAPlan(t *testing.T) {
	const steps, dim = 300, 101
	p := newPlan(t, planned(t, dpmech.FullBatch{}, 1, steps, dim), steps, 2)
	dst, z := make([]int64, dim), make([]float64, dim)
	var all []float64
	for range steps {
		err := p.Next(dst, func([]uint32, *dpmech.Accumulator) error {
			p.Normals(z)
			return nil
		})
		check(t, err)
		all = append(all, z...)
	}
	checkNormal(t, all)
	again := make([]float64, dim)
	p.Normals(again)
	if !slices.Equal(z, again) {
		t.Error("a step has two sets of normal numbers")
	}
}

// Two plans of one run must have independent keys. Two plans from equal streams must be equal.
func TestPlansHaveKeysOfTheirOwn(t *testing.T) {
	m := planned(t, dpmech.Poisson{Rate: 0.5, Selection: dpmech.Feistel}, 100, 2, 4)
	words := func(p *dpmech.Plan) []uint64 {
		w, err := p.Words(nil)
		check(t, err)
		return w
	}
	if !slices.Equal(words(newPlan(t, m, 1, 3)), words(newPlan(t, m, 1, 3))) {
		t.Error("the same streams make other plans")
	}
	run, streams, draws := m.Begin(), seeded.Streams(5, "plans"), seeded.Stream(5, "plans, draws")
	var plans [2][]uint64
	for i := range plans {
		p, err := run.Plan(1, streams, draws)
		check(t, err)
		plans[i] = words(p)
	}
	differ := 0
	for i, w := range plans[0] {
		if w != plans[1][i] {
			differ++
		}
	}
	if differ != 12 {
		t.Errorf("two plans of a run differ by %d words, want the 12 of three keys", differ)
	}
}

// A plan's steps may be computed by a device or by this machine, but never by both, because the
// noise hides only one sum.
func TestPlanIsLentOnce(t *testing.T) {
	m := planned(t, dpmech.FullBatch{}, 3, 5, 2)
	dst := make([]int64, 2)
	p := newPlan(t, m, 5, 4)
	if _, err := p.Words(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Words(nil); err == nil {
		t.Error("two devices have a plan")
	}
	if err := p.Next(dst, each([]float64{1, 1})); err == nil || dst[0] != 0 {
		t.Errorf("a step that a device has is taken here: %v", err)
	}
	p.Reclaim()
	if err := p.Next(dst, each([]float64{1, 1})); err != nil {
		t.Error(err)
	}
	if _, err := p.Words(nil); err == nil {
		t.Error("a device takes a step that was taken here")
	}
}

// For any keys and sizes, a batch must have each record at most once and must not be too large, the
// noise must be within its bound, and the same keys must give the same step.
func FuzzPlannedStep(f *testing.F) {
	f.Add(uint64(1), uint16(0), uint16(0), uint8(0))
	f.Add(uint64(2), uint16(1), uint16(65535), uint8(1))
	f.Add(uint64(3), uint16(255), uint16(1000), uint8(3))
	f.Add(uint64(4), uint16(256), uint16(40000), uint8(255))
	f.Fuzz(func(t *testing.T, seed uint64, records, rate uint16, dim uint8) {
		sampling := dpmech.Poisson{Rate: float64(rate) / math.MaxUint16, Selection: dpmech.Feistel}
		m, err := dpmech.NewSampledSum(dpmech.SampledConfig{
			Sampling: sampling, Records: int(records), Steps: 2, Dim: 1 + int(dim), Clip: 1, NoiseMultiplier: 1, Adjacency: accountant.ReplaceOne,
		})
		if rate == 0 { // at rate 0, all batches are empty, and there is no event
			return
		}
		check(t, err)
		var steps [2][][]int64
		for i := range steps {
			p, err := m.Begin().Plan(2, seeded.Streams(seed, "fuzz"), seeded.Stream(seed, "fuzz, draws"))
			check(t, err)
			for range 2 {
				dst := make([]int64, 1+int(dim))
				err := p.Next(dst, func(batch []uint32, _ *dpmech.Accumulator) error {
					seen := map[uint32]bool{}
					for _, record := range batch {
						if seen[record] || record >= uint32(records) {
							t.Fatalf("the batch has record %d of %d; already in the batch: %t", record, records, seen[record])
						}
						seen[record] = true
					}
					if len(batch) > m.MaxBatch() {
						t.Fatalf("a batch of %d, at most %d are possible", len(batch), m.MaxBatch())
					}
					return nil
				})
				check(t, err)
				for _, n := range dst {
					if float64(max(n, -n)) > float64(m.MaxTotal()) {
						t.Fatalf("noise of %d steps", n)
					}
				}
				steps[i] = append(steps[i], dst)
			}
		}
		if !slices.EqualFunc(steps[0], steps[1], slices.Equal) || slices.Equal(steps[0][0], steps[0][1]) && dim > 0 {
			t.Fatal("the same keys take other steps, or two steps have the same noise")
		}
	})
}
