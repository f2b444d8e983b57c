package dpmech_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/math32"
)

var product = dpmech.ProductConfig{
	Sampling: dpmech.FullBatch{}, Records: 9, Steps: 4,
	Layers: []dpmech.ProductLayer{{Inputs: 7, Outputs: 18}, {Inputs: 31, Outputs: 5}},
	Clip:   2, NoiseMultiplier: 1.5, Together: 6, Adjacency: accountant.AddRemove,
}

func newProductSum(t testing.TB, cfg dpmech.ProductConfig) *dpmech.ProductSum {
	t.Helper()
	s, err := dpmech.NewProductSum(cfg)
	check(t, err)
	return s
}

func beginProduct(t testing.TB, s *dpmech.ProductSum, seed uint64) *dpmech.ProductRun {
	t.Helper()
	run, err := s.Begin(seeded.Streams(seed, "product"))
	check(t, err)
	return run
}

// A productRecord has a record's vectors, one pair for each layer.
type productRecord []dpmech.Pair

// filled returns a record in which all inputs are equal to in and all outputs to out.
func filled(layers []dpmech.ProductLayer, in, out float32) (r productRecord) {
	for _, l := range layers {
		r = append(r, dpmech.Pair{Inputs: slices.Repeat([]float32{in}, l.Inputs), Outputs: slices.Repeat([]float32{out}, l.Outputs)})
	}
	return r
}

func drawRecord(t *rapid.T, layers []dpmech.ProductLayer) productRecord {
	number := rapid.OneOf(
		rapid.Float32Range(-3, 3),
		rapid.SampledFrom([]float32{0, 1, -1, 1e-3, 1e20, -1e38, 1e-38, 1e-45, float32(math.Inf(1)), float32(math.NaN())}),
	)
	if rapid.Bool().Draw(t, "tame") {
		number = rapid.Float32Range(-1, 1)
	}
	r := make(productRecord, len(layers))
	for i, l := range layers {
		r[i].Inputs = rapid.SliceOfN(number, l.Inputs, l.Inputs).Draw(t, "inputs")
		r[i].Outputs = rapid.SliceOfN(number, l.Outputs, l.Outputs).Draw(t, "outputs")
	}
	return r
}

// step computes a step whose batch has all records. It returns the release, layer by layer.
func step(t testing.TB, run *dpmech.ProductRun, layers []dpmech.ProductLayer, records []productRecord) []float64 {
	t.Helper()
	batch, err := run.Next()
	if err != nil || len(batch) != len(records) {
		t.Fatalf("a batch of %d records, want %d: %v", len(batch), len(records), err)
	}
	for i, n := range batch {
		check(t, run.Put(i, records[n]))
	}
	return release(t, run, layers)
}

func release(t testing.TB, run *dpmech.ProductRun, layers []dpmech.ProductLayer) []float64 {
	t.Helper()
	sums := make([][]float64, len(layers))
	for i, l := range layers {
		sums[i] = make([]float64, l.Inputs*l.Outputs)
	}
	for i, p := range run.Parts() {
		dst := make([]float32, run.Size(i))
		check(t, run.Release(i, dst))
		l, height := layers[p.Layer], p.To-p.From
		for at, x := range dst {
			column := at/(height*math32.TileColumns)*math32.TileColumns + at%math32.TileColumns
			row := p.From + at/math32.TileColumns%height
			if row < l.Inputs && column < l.Outputs {
				sums[p.Layer][row*l.Outputs+column] = float64(x)
			} else if x != 0 {
				t.Fatalf("part %d has %v beyond the matrix", i, x)
			}
		}
	}
	return slices.Concat(sums...)
}

// clipped returns the clipped vector of a record, in float64.
func (r productRecord) clipped(clip float64) []float64 {
	var v []float64
	var squared float64
	for _, p := range r {
		for _, a := range p.Inputs {
			for _, b := range p.Outputs {
				x := float64(a) * float64(b)
				squared += x * x
				v = append(v, x)
			}
		}
	}
	f := min(1, clip/math.Sqrt(squared))
	for i := range v {
		v[i] *= f
	}
	return v
}

// A release must be the sum of the clipped vectors plus noise. The test draws the same noise twice
// from one seed, so that two releases may differ only by their clipped vectors and by rounding. It
// covers records in the matrix product as well as records that are added one by one.
func TestProductSumIsTheSumOfClippedVectors(t *testing.T) {
	for _, together := range []int{1, 6, 9, 40} {
		cfg := product
		cfg.Together = together
		s := newProductSum(t, cfg)
		rapid.Check(t, func(rt *rapid.T) {
			records := make([]productRecord, cfg.Records)
			nothing := make([]productRecord, cfg.Records)
			want := make([]float64, s.Dim())
			for i := range records {
				records[i], nothing[i] = make(productRecord, 2), filled(cfg.Layers, 0, 0)
				for l, layer := range cfg.Layers {
					in := rapid.SliceOfN(rapid.Float32Range(-1, 1), layer.Inputs, layer.Inputs).Draw(rt, "inputs")
					out := rapid.SliceOfN(rapid.Float32Range(-1, 1), layer.Outputs, layer.Outputs).Draw(rt, "outputs")
					records[i][l] = dpmech.Pair{Inputs: in, Outputs: out}
				}
				for j, x := range records[i].clipped(cfg.Clip) {
					want[j] += x
				}
			}
			seed := rapid.Uint64().Draw(rt, "seed")
			got := step(t, beginProduct(t, s, seed), cfg.Layers, records)
			noise := step(t, beginProduct(t, s, seed), cfg.Layers, nothing)
			for i := range got {
				got[i] -= noise[i]
			}
			// shown bounds how much a release changes when it is rounded to float32, both in the
			// sum and in the noise.
			shown := 0x1p-23 * math.Sqrt(float64(s.Dim())) * (float64(cfg.Records)*cfg.Clip + 7*s.Sigma())
			// truncated is the total error of truncating the records that are added as integers.
			truncated := float64(cfg.Records) * math.Sqrt(float64(s.Dim())) * s.Lattice().Step()
			slack := float64(cfg.Records)*cfg.Clip*0x1p-19 + s.Sensitivity() - cfg.Clip + truncated + shown
			if d := floats.Distance(got, want, 2); d > slack {
				rt.Fatalf("off by %g, at most %g is rounding", d, slack)
			}
		})
	}
}

// Whatever one record has as its content, and wherever it is, it must change a release by at most
// the stated sensitivity.
func TestProductSumRecordsHaveBoundedInfluence(t *testing.T) {
	for _, together := range []int{2, 6, 40} {
		rapid.Check(t, func(rt *rapid.T) {
			cfg := product
			cfg.Together = together
			cfg.Records = rapid.IntRange(1, 9).Draw(rt, "records")
			with := newProductSum(t, cfg)
			cfg.Records--
			without := newProductSum(t, cfg)
			if with.Sensitivity() != without.Sensitivity() || with.Sigma() != without.Sigma() {
				rt.Fatal("clip or noise depends on the number of records")
			}
			records := make([]productRecord, cfg.Records+1)
			for i := range records {
				records[i] = drawRecord(rt, cfg.Layers)
			}
			gone := rapid.IntRange(0, cfg.Records).Draw(rt, "gone")
			a := step(t, beginProduct(t, with, 1), cfg.Layers, records)
			b := step(t, beginProduct(t, without, 1), cfg.Layers, slices.Delete(slices.Clone(records), gone, gone+1))
			shown := 0x1p-23 * math.Sqrt(float64(with.Dim())) * (10*cfg.Clip + 7*with.Sigma())
			if d := floats.Distance(a, b, 2); !(d <= with.Sensitivity()+shown) {
				rt.Fatalf("one of %d records moves the release by %g, claimed %g", cfg.Records+1, d, with.Sensitivity())
			}
		})
	}
}

// A record that is not finite must add zero, even if an earlier step has left other values in
// memory.
func TestProductSumRefusedRecordIsZero(t *testing.T) {
	cfg := product
	s := newProductSum(t, cfg)
	fill := func(in, out float32) productRecord { return filled(cfg.Layers, in, out) }
	all := func(r productRecord) []productRecord {
		return slices.Repeat([]productRecord{r}, cfg.Records)
	}
	zero := beginProduct(t, s, 3)
	step(t, zero, cfg.Layers, all(fill(1, 1)))
	want := step(t, zero, cfg.Layers, all(fill(0, 0)))
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, bad := range []productRecord{fill(inf, 0), fill(nan, 1), fill(1, nan), fill(0, inf), fill(1e38, 1e38)} {
		run := beginProduct(t, s, 3)
		step(t, run, cfg.Layers, all(fill(1, 1)))
		if got := step(t, run, cfg.Layers, all(bad)); !slices.Equal(got, want) {
			t.Errorf("records of %g and %g change the release", bad[0].Inputs[0], bad[0].Outputs[0])
		}
	}
}

// Even if a clip is not a whole number of lattice steps, the sensitivity must be at least the
// largest norm of a clipped vector plus the rounding errors.
func TestProductSumPaysForWholeClips(t *testing.T) {
	cfg := product
	cfg.Sampling, cfg.Records, cfg.Layers = dpmech.Poisson{Rate: 0.01}, 20000, []dpmech.ProductLayer{{Inputs: 1, Outputs: 1}}
	checked := 0
	for _, cfg.Together = range []int{64, 1000, 2500, 3000} {
		for i := range 300 {
			cfg.NoiseMultiplier = 100 + float64(i)
			cfg.Clip = 1 + float64(i%7)/7
			s, err := dpmech.NewProductSum(cfg)
			if err != nil {
				continue // for this number of records, the rounding error is larger than the clip
			}
			checked++
			// clip is an upper bound on the exact norm, which can be larger than the computed norm.
			clip := cfg.Clip * (1 - 0x1p-21)
			least := clip*(1+2*math32.SumError(cfg.Together)) + 2*s.Lattice().Step()
			if got := s.Sensitivity(); got < least {
				t.Fatalf("%d records together, clip %v, noise %v: sensitivity %v, at least %v is needed", cfg.Together, cfg.Clip, cfg.NoiseMultiplier, got, least)
			}
		}
	}
	if checked < 700 {
		t.Errorf("%d mechanisms", checked)
	}
}

// The sensitivity must include the clip and the rounding error. The noise and the cost must be in
// proportion to the whole sensitivity.
func TestProductSumPaysForRounding(t *testing.T) {
	cfg := product
	cfg.Sampling, cfg.Records, cfg.Together = dpmech.Poisson{Rate: 0.01}, 20000, 256
	cfg.Layers = []dpmech.ProductLayer{{Inputs: 785, Outputs: 400}}
	s := newProductSum(t, cfg)
	step := s.Lattice().Step()
	least := cfg.Clip*(1+2*math32.SumError(256)) + 2*step*math.Sqrt(785*400)
	if got := s.Sensitivity(); got < least-2*step || got > least*1.0001 {
		t.Errorf("sensitivity %v, want %v", got, least)
	}
	if rounding := s.Sensitivity()/cfg.Clip - 1; rounding < 0.007 || rounding > 0.01 {
		t.Errorf("rounding costs %v of the clip", rounding)
	}
	if got := s.Sigma(); got < cfg.NoiseMultiplier*s.Sensitivity() || got > cfg.NoiseMultiplier*s.Sensitivity()*(1+1e-6) {
		t.Errorf("noise %v for a sensitivity of %v and a multiplier of %v", got, s.Sensitivity(), cfg.NoiseMultiplier)
	}
	ideal := accountant.Repeated{Event: accountant.Poisson{Rate: 0.01, Sigma: cfg.NoiseMultiplier, Adjacency: accountant.AddRemove}, Times: cfg.Steps}
	if got, want := epsilonOf(t, s.Event(), 1e-5), epsilonOf(t, ideal, 1e-5); math.Abs(got-want) > 1e-3*want {
		t.Errorf("costs ε = %v, a sum without rounding and with as much noise for its clip %v", got, want)
	}
}

// The noise must have the stated variance. The bounds are six standard deviations. Correct noise
// exceeds them with a probability below 1e-8.
func TestProductSumNoise(t *testing.T) {
	cfg := product
	cfg.Sampling, cfg.Layers = dpmech.Poisson{Rate: 0}, []dpmech.ProductLayer{{Inputs: 101, Outputs: 100}}
	s := newProductSum(t, cfg)
	run := beginProduct(t, s, 5)
	first, second := step(t, run, cfg.Layers, nil), step(t, run, cfg.Layers, nil)
	for _, v := range [][]float64{first, second} {
		var squares, cross float64
		for i, x := range v {
			squares += x * x / (s.Sigma() * s.Sigma())
			cross += x * v[(i+1)%len(v)] / (s.Sigma() * s.Sigma())
		}
		n := float64(len(v))
		if math.Abs(squares-n) > 6*math.Sqrt(2*n) || math.Abs(cross) > 6*math.Sqrt(n) {
			t.Errorf("Σ z² = %.0f of %.0f, neighbours correlate by %.3f", squares, n, cross/n)
		}
	}
	if slices.Equal(first, second) {
		t.Error("two steps have the same noise")
	}
	const part = 24 * 100 // number of elements of a part
	if slices.Equal(first[:part], first[part:2*part]) {
		t.Error("two parts have the same noise")
	}
	// A noise sample is zero with probability 5e-8, so a zero is unlikely.
	if at := slices.Index(first, 0); at >= 0 {
		t.Errorf("element %d has no noise", at)
	}
}

func TestProductSumRefuses(t *testing.T) {
	cases := map[string]func(*dpmech.ProductConfig){
		"no sampling":       func(c *dpmech.ProductConfig) { c.Sampling = nil },
		"no layer":          func(c *dpmech.ProductConfig) { c.Layers = nil },
		"0 by 3":            func(c *dpmech.ProductConfig) { c.Layers = []dpmech.ProductLayer{{Inputs: 0, Outputs: 3}} },
		"clip must lie":     func(c *dpmech.ProductConfig) { c.Clip = math.NaN() },
		"noise multiplier":  func(c *dpmech.ProductConfig) { c.NoiseMultiplier = 0 },
		"together":          func(c *dpmech.ProductConfig) { c.Together = 0 },
		"independent steps": func(c *dpmech.ProductConfig) { c.Sampling = dpmech.Permutation{Batches: 3} },
		"adjacency":         func(c *dpmech.ProductConfig) { c.Adjacency = "none" },
	}
	for want, change := range cases {
		cfg := product
		change(&cfg)
		if _, err := dpmech.NewProductSum(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A run must release a part only once, only after all records of the batch were added, and not
// after the last planned step.
func TestProductRunRefuses(t *testing.T) {
	cfg := product
	cfg.Steps, cfg.Records = 1, 1
	run := beginProduct(t, newProductSum(t, cfg), 7)
	dst := make([]float32, run.Size(0))
	if err := run.Release(0, dst); err == nil {
		t.Error("a part was released before there was a step")
	}
	if _, err := run.Next(); err != nil {
		t.Fatal(err)
	}
	if err := run.Release(0, dst); err == nil || slices.Max(dst) != 0 {
		t.Errorf("a part was released before its records were in: %v", err)
	}
	record := filled(cfg.Layers, 0, 0)
	if err := run.Put(1, record); err == nil {
		t.Error("no error for a place beyond the batch")
	}
	if err := run.Put(0, record[:1]); err == nil {
		t.Error("no error for a record without its second layer")
	}
	if err := run.Put(0, productRecord{record[1], record[0]}); err == nil {
		t.Error("no error for exchanged layers")
	}
	check(t, run.Put(0, record))
	if err := run.Release(0, dst[1:]); err == nil {
		t.Error("a part was released into too little room")
	}
	check(t, run.Release(0, dst))
	if err := run.Release(0, dst); err == nil {
		t.Error("Release released the same part twice")
	}
	if _, err := run.Next(); !errors.Is(err, dpmech.ErrNoSteps) {
		t.Errorf("a step that was not planned: %v", err)
	}
}

func TestProductRunDoesNotAllocate(t *testing.T) {
	cfg := product
	cfg.Together, cfg.Steps = 9, 1000
	run := beginProduct(t, newProductSum(t, cfg), 9)
	record := filled(cfg.Layers, 0, 0)
	dst := make([]float32, 1000)
	parts := len(run.Parts())
	allocations := testing.AllocsPerRun(20, func() {
		batch, _ := run.Next()
		for i := range batch {
			run.Put(i, record)
		}
		for i := range parts {
			run.Release(i, dst[:run.Size(i)])
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations a step", allocations)
	}
}

// Batches must be sorted by record. Rounding may depend on the order, so the order must not depend
// on the sampler's algorithm.
func TestProductBatchesAreInOrder(t *testing.T) {
	cfg := product
	cfg.Sampling, cfg.Records = dpmech.Poisson{Rate: 0.1}, 500
	run := beginProduct(t, newProductSum(t, cfg), 11)
	batch, err := run.Next()
	check(t, err)
	if len(batch) < 20 || !slices.IsSorted(batch) {
		t.Errorf("the batch %v is not in order", batch)
	}
}
