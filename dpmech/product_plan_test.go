package dpmech_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func newProductPlan(t testing.TB, cfg dpmech.ProductConfig, seed uint64) *dpmech.ProductPlan {
	t.Helper()
	p, err := beginProduct(t, newProductSum(t, cfg), 1).Plan(cfg.Steps, seeded.Streams(seed, "plan"), seeded.Stream(seed, "plan, draws"))
	check(t, err)
	return p
}

// plannedStep computes the next step of a plan with the given records. It returns the batch, and
// the elements of the release in the order in which the plan numbers its noise samples.
func plannedStep(t testing.TB, p *dpmech.ProductPlan, records []productRecord) (batch []uint32, released []float64) {
	t.Helper()
	batch, err := p.Next()
	check(t, err)
	for i, n := range batch {
		check(t, p.Put(i, records[n]))
	}
	for i, part := range p.Parts() {
		dst := make([]float32, p.Size(i))
		check(t, p.Release(i, dst))
		layer, height := p.Layers()[part.Layer], part.To-part.From
		for row := part.From; row < min(part.To, layer.Inputs); row++ {
			for c := range layer.Outputs {
				released = append(released, float64(dst[(c/16*height+row-part.From)*16+c%16]))
			}
		}
	}
	return batch, released
}

// In each step and element, the noise of a plan must have the right distribution. The batches are
// empty, so that the releases are noise alone.
func TestProductPlanNoise(t *testing.T) {
	cfg := product
	cfg.Sampling, cfg.Steps = dpmech.Poisson{Selection: dpmech.Feistel}, 60
	p := newProductPlan(t, cfg, 1)
	var all []float64
	for range cfg.Steps {
		_, released := plannedStep(t, p, nil)
		for _, x := range released {
			all = append(all, x/p.Mechanism().Sigma())
		}
	}
	if len(all) != cfg.Steps*p.Mechanism().Dim() {
		t.Fatalf("%d numbers were released", len(all))
	}
	checkNormal(t, all)
}

// With the same noise, adding a record must change the sum by its clipped vector, even if it comes
// after the first Together records. The batches must be the same as the sampler's, in order.
func TestProductPlanSums(t *testing.T) {
	cfg := product
	cfg.Sampling, cfg.Steps = dpmech.Poisson{Rate: 0.6, Selection: dpmech.Feistel}, 8
	records := make([]productRecord, cfg.Records)
	src := seeded.Stream(3, "records")
	for n := range records {
		for _, l := range cfg.Layers {
			draw := func(n int) []float32 {
				v := make([]float64, n)
				dpmech.FillNormal(v, src)
				w := make([]float32, n)
				for i, x := range v {
					w[i] = float32(x)
				}
				return w
			}
			records[n] = append(records[n], dpmech.Pair{Inputs: draw(l.Inputs), Outputs: draw(l.Outputs)})
		}
	}
	larger := 0
	for n := range records {
		with, without := newProductPlan(t, cfg, 2), newProductPlan(t, cfg, 2)
		others := slices.Clone(records)
		others[n] = filled(cfg.Layers, 0, 0)
		vector := records[n].clipped(cfg.Clip)
		for range cfg.Steps {
			batch, a := plannedStep(t, with, records)
			_, b := plannedStep(t, without, others)
			if !slices.IsSorted(batch) {
				t.Fatalf("a batch is %v", batch)
			}
			if len(batch) > cfg.Together {
				larger++
			}
			counts := 0.
			if slices.Contains(batch, uint32(n)) {
				counts = 1
			}
			for i, x := range vector { // the elements are in the order of layers and rows
				if off := math.Abs(a[i] - b[i] - counts*x); off > 1e-5 {
					t.Fatalf("record %d, element %d: moved by %v, want %v", n, i, a[i]-b[i], counts*x)
				}
			}
		}
	}
	if larger == 0 {
		t.Error("no batch is larger than those that are added together")
	}
}

// The random numbers for a record must depend only on the plan, the step and the record.
func TestProductPlanDraws(t *testing.T) {
	cfg := product
	cfg.Records, cfg.Together, cfg.Sampling = 60, 60, dpmech.Poisson{Rate: 0.5, Selection: dpmech.Feistel}
	a, b := newProductPlan(t, cfg, 1), newProductPlan(t, cfg, 1)
	bits := func(p *dpmech.ProductPlan, record uint32) uint64 {
		var s dpmech.Stream
		p.PlaceBits(&s, record)
		return s.Uint64()
	}
	seen := map[uint64]bool{}
	for range cfg.Steps {
		first, err := a.Next()
		check(t, err)
		second, err := b.Next()
		if err != nil || !slices.Equal(first, second) || !slices.IsSorted(first) {
			t.Fatalf("one plan has the batches %v and %v, %v", first, second, err)
		}
		for record := range uint32(cfg.Records) {
			w := bits(a, record)
			if w != bits(b, record) || seen[w] {
				t.Fatal("a record has different draws in one step, or two records or steps have the same draws")
			}
			seen[w] = true
		}
	}
	var s dpmech.Stream
	var all []float64
	for record := range uint32(800) {
		z := make([]float64, 37)
		a.RecordNormals(z, &s, record)
		all = append(all, z...)
	}
	checkNormal(t, all)
}

func TestProductPlanUsesStepsUp(t *testing.T) {
	cfg := product
	cfg.Together = cfg.Records
	s := newProductSum(t, cfg)
	run := beginProduct(t, s, 1)
	streams, draws := seeded.Streams(1, "uses"), seeded.Stream(1, "uses, draws")
	p, err := run.Plan(3, streams, draws)
	check(t, err)
	if run.Remaining() != 1 || p.Steps() != 3 || p.Mechanism() != s {
		t.Errorf("of 4 steps 3 are in a plan, and %d are left", run.Remaining())
	}
	for _, steps := range []int{-1, 0, 2} {
		if _, err := run.Plan(steps, streams, draws); !errors.Is(err, dpmech.ErrNoSteps) {
			t.Errorf("a plan of %d steps where one is left: %v", steps, err)
		}
	}
	if _, err := p.Words(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Words(nil); err == nil {
		t.Error("two devices have one plan")
	}
	if _, err := p.Next(); err == nil {
		t.Error("a step is taken that a device has")
	}
	p.Reclaim()
	for range 3 {
		if _, err := p.Next(); err != nil {
			t.Fatal(err)
		}
		if err := p.Release(0, make([]float32, p.Size(0))); err == nil {
			t.Error("a step is released without its records")
		}
	}
	if _, err := p.Next(); !errors.Is(err, dpmech.ErrNoSteps) {
		t.Errorf("a fourth step of three: %v", err)
	}
	if _, err := p.Words(nil); err == nil {
		t.Error("a device has steps that were taken")
	}
	p, err = run.Plan(1, streams, draws)
	check(t, err)
	p.Wipe()
	if _, err := p.Next(); !errors.Is(err, dpmech.ErrNoSteps) {
		t.Errorf("a step of a wiped plan: %v", err)
	}
}

func TestWipedProductPlanReleasesNothing(t *testing.T) {
	cfg := product
	cfg.Sampling = dpmech.Poisson{} // rate 0, so that batches are empty
	for _, before := range []int{0, 1} {
		p := newProductPlan(t, cfg, 1)
		if _, err := p.Next(); err != nil {
			t.Fatal(err)
		}
		for part := range before {
			check(t, p.Release(part, make([]float32, p.Size(part))))
		}
		p.Wipe()
		for part := range p.Parts() {
			dst := make([]float32, p.Size(part))
			if err := p.Release(part, dst); err == nil || slices.ContainsFunc(dst, func(x float32) bool { return x != 0 }) {
				t.Errorf("part %d is released without keys", part)
			}
		}
	}
}

func TestProductPlansOfSamplings(t *testing.T) {
	for _, c := range []struct {
		sampling dpmech.Sampling
		together int
	}{
		{dpmech.FullBatch{}, 9},
		{dpmech.FullBatch{}, 1},
		{dpmech.Poisson{Rate: 0.2, Selection: dpmech.Feistel}, 3},
		{dpmech.Poisson{Rate: 0.2}, 9},
		{dpmech.WithoutReplacement{Batch: 3, Selection: dpmech.Feistel}, 2},
	} {
		cfg := product
		cfg.Sampling, cfg.Together, cfg.Adjacency = c.sampling, c.together, "replace-one"
		run := beginProduct(t, newProductSum(t, cfg), 1)
		left := run.Remaining()
		p, err := run.Plan(1, seeded.Streams(1, "samplings"), seeded.Stream(1, "samplings, draws"))
		if err != nil || run.Remaining() != left-1 {
			t.Fatalf("a plan of %+v, %d together: %v, %d steps left of %d", c.sampling, c.together, err, run.Remaining(), left)
		}
		batch, err := p.Next()
		if err != nil || len(batch) > p.MaxBatch() {
			t.Errorf("%+v: a batch of %d, %d at most, %v", c.sampling, len(batch), p.MaxBatch(), err)
		}
	}
}

// A batch plan must have the sampling's batches, random numbers for records, and no noise.
func TestBatchPlan(t *testing.T) {
	sampling := dpmech.Poisson{Rate: 0.3, Selection: dpmech.Feistel}
	p, err := dpmech.NewBatchPlan(sampling, 50, 400, seeded.Stream(1, "batches"), seeded.Stream(1, "draws"))
	check(t, err)
	var sizes float64
	for range p.Steps() {
		batch, err := p.Next()
		if err != nil || !slices.IsSorted(batch) || len(slices.Compact(slices.Clone(batch))) != len(batch) {
			t.Fatalf("batch %v, %v", batch, err)
		}
		sizes += float64(len(batch))
	}
	if mean, sd := 15., math.Sqrt(50*.3*.7/400); math.Abs(sizes/400-mean) > 5*sd {
		t.Errorf("batches have %g records on average, want %g", sizes/400, mean)
	}
	if _, err := p.Next(); !errors.Is(err, dpmech.ErrNoSteps) {
		t.Errorf("a step too many: %v", err)
	}
	if _, err := dpmech.NewBatchPlan(dpmech.RandomAllocation{Steps: 2, Picks: 1}, 50, 1, seeded.Stream(1, "batches"), seeded.Stream(1, "draws")); err == nil {
		t.Error("a plan of batches that a device does not draw")
	}
}
