//go:build emulator || cuda

package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A scene is a test problem that both a device and the CPU solve.
type scene struct {
	family       Family
	records, dim int
	sampling     dpmech.Sampling
	steps        int
	clip, noise  float64
}

func (s scene) String() string {
	return fmt.Sprintf("family %d, %d records of %d numbers, %+v", s.family, s.records, s.dim, s.sampling)
}

const precision = 2.5

// data returns generated records.
func (s scene) data() Regression {
	src := seeded.Stream(uint64(s.records), "data", uint64(s.dim))
	r := Regression{Family: s.family, Dim: s.dim, Precision: precision}
	for range s.records {
		at := 0.0
		for j := range s.dim {
			x := uniform(src)
			if j == 0 {
				x = 1
			}
			r.Rows = append(r.Rows, x)
			at += x * math.Cos(float64(j)) / math.Sqrt(float64(s.dim))
		}
		switch s.family {
		case Logistic:
			r.Outcomes = append(r.Outcomes, map[bool]float64{true: 1}[uniform(src) < at])
		case Linear:
			r.Outcomes = append(r.Outcomes, at+uniform(src))
		case Poisson:
			r.Outcomes = append(r.Outcomes, float64(src.Uint64n(6)))
		}
	}
	return r
}

// program returns the evaluator of the model on the CPU.
func (s scene) program(t testing.TB, r Regression) gpu.Evaluator {
	t.Helper()
	b := model.NewBuilder("regression")
	names := make([]string, s.dim)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	y := map[Family]func() model.Expr{
		Logistic: func() model.Expr { return b.Integer("y", 0, 1) },
		Linear:   func() model.Expr { return b.Real("y", math.Inf(-1), math.Inf(1)) },
		Poisson:  func() model.Expr { return b.Integer("y", 0, 1000) },
	}[s.family]()
	eta := b.Linear(b.Reals("x", names, -1, 1), b.Vector("beta", names, model.Free, b.Normal(model.Normal{SD: 1})))
	density := map[Family]func() model.Expr{
		Logistic: func() model.Expr { return b.LogDensity(ir.BernoulliLogit, y, eta) },
		Linear:   func() model.Expr { return b.LogDensity(ir.Normal, y, eta, b.Number(1/math.Sqrt(precision))) },
		Poisson:  func() model.Expr { return b.LogDensity(ir.PoissonLog, y, eta) },
	}[s.family]()
	m, err := b.Build(density)
	if err != nil {
		t.Fatal(err)
	}
	return evaluator(t, m, s.records, r.Outcomes, r.Rows)
}

// evaluator returns the evaluator of a model on the CPU, for records with the given columns.
func evaluator(t testing.TB, m *model.Model, records int, columns ...[]float64) gpu.Evaluator {
	t.Helper()
	table, err := m.Load(records, columns)
	if err != nil {
		t.Fatal(err)
	}
	e, err := gpu.CPU{}.Compile(m, table)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (s scene) options(t testing.TB) gpu.MeanFieldOptions {
	t.Helper()
	o := gpu.MeanFieldOptions{
		Draws: 1, Clip: math.Inf(1), Rate: 1, Optimiser: gpu.NewAdam(2 * s.dim), Schedule: gpu.LinearDecay{First: 0.1, Last: 0.01}, Steps: s.steps, Average: 0.5,
	}
	if p, ok := s.sampling.(dpmech.Poisson); ok && p.Rate > 0 {
		o.Rate = p.Rate
	}
	for i := range s.dim {
		o.CavityMean = append(o.CavityMean, 0.1*math.Sin(float64(i)))
		o.CavityPrecision = append(o.CavityPrecision, 1+0.5*float64(i%3))
	}
	return o
}

func (s scene) start(t testing.TB, o gpu.MeanFieldOptions) *gpu.MeanField {
	t.Helper()
	mean, sd := make([]float64, s.dim), make([]float64, s.dim)
	for i := range sd {
		mean[i], sd[i] = 0.05*float64(i%4), 0.3
	}
	run, err := gpu.NewMeanField(mean, sd, o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (s scene) mechanism(t testing.TB) *dpmech.SampledSum {
	return mechanism(t, s.sampling, s.records, s.steps, s.dim, s.clip, s.noise)
}

// rowSink is a sink that adds contributions to the mechanism.
type rowSink struct {
	sum   *dpmech.Accumulator
	dense []float64 // scratch vector; it is zero between records
}

func (s *rowSink) AddRecord(index []int32, value []float64) error {
	if index == nil {
		return s.sum.Add(value)
	}
	for k, j := range index {
		s.dense[j] = value[k]
	}
	err := s.sum.Add(s.dense)
	clear(s.dense)
	return err
}

func (s *rowSink) AddRows(slopes []float64, rows []int32, x []float64) error {
	return s.sum.AddRows(slopes, rows, x)
}

// here computes the steps of a plan for the scene's model on the CPU. It returns the noisy sums of
// all steps.
func (s scene) here(t testing.TB, p *dpmech.Plan, e gpu.Evaluator, run *gpu.MeanField) (releases []int64) {
	return takeHere(t, p, e, run, func([]float64, []float64) {})
}

// takeHere computes the steps of a plan for any model on the CPU. It returns the noisy sums. The
// function prior must add the problem's share of the gradient of log(prior/base) at theta to total.
func takeHere(t testing.TB, p *dpmech.Plan, e gpu.Evaluator, run *gpu.MeanField, prior func(total, theta []float64)) (releases []int64) {
	t.Helper()
	noisy, total := make([]int64, e.Dim()), make([]float64, e.Dim())
	var theta []float64
	unit := p.Mechanism().Lattice().Step()
	for range p.Steps() {
		err := p.Next(noisy, func(batch []uint32, sum *dpmech.Accumulator) error {
			rows := make([]int32, len(batch))
			for l, record := range batch {
				rows[l] = int32(record)
			}
			q := run.Next(p.Normals, rows)
			theta = q.Draws[0]
			return e.Each(q, &rowSink{sum, make([]float64, e.Dim())})
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range noisy {
			total[i] = unit * float64(n)
		}
		prior(total, theta)
		run.Update(total)
		releases = append(releases, noisy...)
	}
	return releases
}

// visit returns a Visit with the scene's steps on the records in table. Visits with the same index
// get the same batches and noise.
func (s scene) visit(t testing.TB, d Device, table *Table, index uint64) *Visit {
	o := s.options(t)
	return &Visit{
		Table: table, Plan: plan(t, s.mechanism(t), index), Options: o, Run: s.start(t, o), Releases: make([]int64, s.steps*s.dim),
	}
}

func (s scene) table(t testing.TB, d Device) *Table {
	t.Helper()
	table, err := s.data().Put(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Free() })
	return table
}

var scenes = []scene{
	{Logistic, 1, 1, dpmech.Poisson{Rate: 0.5, Selection: dpmech.Feistel}, 20, 1, 1.5},
	{Logistic, 300, 3, dpmech.FullBatch{}, 15, 0.3, 2},
	{Logistic, 2000, 14, dpmech.Poisson{Rate: 0.1, Selection: dpmech.Feistel}, 60, 2, 1},
	{Logistic, 100_000, 5, dpmech.Poisson{Rate: 0.002, Selection: dpmech.Feistel}, 30, 1, 1},
	{Linear, 257, 7, dpmech.WithoutReplacement{Batch: 33, Selection: dpmech.Feistel}, 40, 1, 3},
	{Linear, 50, 300, dpmech.Poisson{Rate: 0, Selection: dpmech.Feistel}, 5, 1, 1},
	{Poisson, 999, 4, dpmech.Poisson{Rate: 0.3, Selection: dpmech.Feistel}, 40, 5, 1},
	{Poisson, 600, 130, dpmech.FullBatch{}, 6, 0.1, 1},
}

// far returns the largest difference between corresponding elements of a and b, relative to 1 plus
// the absolute value of the element of a.
func far(a, b []float64) (most float64) {
	for i, x := range a {
		most = math.Max(most, math.Abs(x-b[i])/(1+math.Abs(x)))
	}
	return most
}

// The test compares a run on the device with the same steps on the CPU. The CPU's engine, optimiser
// and mechanism share no code with the kernels. q must agree to 1e-9. Releases may differ by as
// many lattice steps as 1e-9 of a gradient has.
func TestDescentAgreesWithTheProcessor(t *testing.T) {
	for i, s := range scenes {
		d := devices[i%len(devices)]
		v := s.visit(t, d, s.table(t, d), 7)
		if err := Descend(d, []*Visit{v}); err != nil {
			t.Fatal(err)
		}
		if !v.Taken || v.Plan.Remaining() != 0 {
			t.Fatalf("%v: the device has not taken the steps", s)
		}
		run := s.start(t, s.options(t))
		releases := s.here(t, plan(t, s.mechanism(t), 7), s.program(t, s.data()), run)
		got, want := v.Run.AppendState(nil), run.AppendState(nil)
		if e := far(got, want); !(e < 1e-9) {
			t.Errorf("%v: the state on the device differs by %g from the state on the CPU", s, e)
		}
		clip := s.clip / v.Plan.Mechanism().Lattice().Step()
		for k, n := range releases {
			if off := math.Abs(float64(v.Releases[k] - n)); off > float64(s.records)+1e-9*clip*float64(s.records) {
				t.Fatalf("%v: number %d of step %d is %d, want %d", s, k%s.dim, k/s.dim, v.Releases[k], n)
			}
		}
	}
}

// A problem must have the same result alone and in a launch with other problems, whatever the order
// of the threads.
func TestProblemsAreIndependent(t *testing.T) {
	s := scenes[2]
	s.steps = 10
	other := scenes[4]
	alone := s.visit(t, devices[0], s.table(t, devices[0]), 3)
	if err := Descend(devices[0], []*Visit{alone}); err != nil {
		t.Fatal(err)
	}
	for order, d := range devices {
		first, second := s.table(t, d), other.table(t, d)
		visits := []*Visit{other.visit(t, d, second, 1), s.visit(t, d, first, 2), s.visit(t, d, first, 3), other.visit(t, d, second, 4)}
		visits[1].Releases = nil
		if err := Descend(d, visits); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(visits[2].Run.AppendState(nil), alone.Run.AppendState(nil)) || !slices.Equal(visits[2].Releases, alone.Releases) {
			t.Errorf("order %d: a problem has another result beside others", order)
		}
		if slices.Equal(visits[1].Run.AppendState(nil), alone.Run.AppendState(nil)) {
			t.Errorf("order %d: two keys make one result", order)
		}
	}
}

// Problems with different numbers of coordinates must be able to share a launch, and each block
// must have enough memory.
func TestProblemsOfSeveralSizes(t *testing.T) {
	d := devices[0]
	var visits []*Visit
	for _, dim := range []int{128, 129, 3, 1} {
		s := scene{Linear, 300, dim, dpmech.FullBatch{}, 2, 1, 1}
		visits = append(visits, s.visit(t, d, s.table(t, d), uint64(dim)))
	}
	if err := Descend(d, visits); err != nil {
		t.Fatal(err)
	}
}

// A second visit must continue the run of the first.
func TestSecondVisitContinues(t *testing.T) {
	s := scenes[2]
	d := devices[0]
	m := s.mechanism(t)
	steps := m.Begin()
	streams, draws := seeded.Streams(1, "visits"), seeded.Stream(1, "visits, draws")
	streamsHere, drawsHere := seeded.Streams(1, "visits"), seeded.Stream(1, "visits, draws")
	o := s.options(t)
	v := &Visit{Table: s.table(t, d), Options: o, Run: s.start(t, o)}
	run, e := s.start(t, s.options(t)), s.program(t, s.data())
	stepsHere := m.Begin()
	for _, n := range []int{1, 23, s.steps - 24} {
		var err error
		if v.Plan, err = steps.Plan(n, streams, draws); err != nil {
			t.Fatal(err)
		}
		if err := Descend(d, []*Visit{v}); err != nil {
			t.Fatal(err)
		}
		p, err := stepsHere.Plan(n, streamsHere, drawsHere)
		if err != nil {
			t.Fatal(err)
		}
		s.here(t, p, e, run)
		if e := far(v.Run.AppendState(nil), run.AppendState(nil)); !(e < 1e-9) {
			t.Errorf("after %d steps the state on the device differs by %g from the state on the CPU", run.Step(), e)
		}
	}
}

// A spy is a device for tests. It can change the words written to it, fail at a launch, and count
// how often memory is freed.
type spy struct {
	Device
	fail   string
	freed  int
	change func(words []uint64)
}

func (s *spy) Write(memory uint64, words []uint64) error {
	if s.change != nil {
		s.change(words)
	}
	return s.Device.Write(memory, words)
}

func (s *spy) Free(memory uint64) error {
	s.freed++
	return s.Device.Free(memory)
}

func (s *spy) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	if s.fail != "" {
		return fmt.Errorf("%s", s.fail)
	}
	return s.Device.Launch(kernel, blocks, threads, shared, arguments...)
}

// The test widens the bounds of a density, so that the device cannot decide some noise samples.
// dpmech must decide them, and the device must then compute the steps again. The results must have
// the same bits as if all samples had been decided. If too many samples are undecided, Descend must
// return an error and leave the run unchanged.
func TestUndecidedSamples(t *testing.T) {
	s := scenes[0]
	s.dim, s.records, s.steps = 40, 30, 120
	d := &spy{Device: devices[0]}
	table := s.table(t, d)
	want := s.visit(t, d, table, 5)
	if err := Descend(d, []*Visit{want}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		slack       uint64
		least, most int // smallest and largest number of times that plans may be copied to the device
		taken       bool
	}{{1 << 33, 4, 20, true}, {1 << 61, 65, 135, false}} {
		v, beside := s.visit(t, d, table, 5), s.visit(t, d, table, 6)
		before := v.Run.AppendState(nil)
		plans := 0
		d.change = func(words []uint64) {
			for at := range max(len(words)-1000, 0) {
				if words[at] <= 1 && words[at+1] == uint64(s.records) && words[at+2] == uint64(s.steps) {
					words[at+slackWord] = c.slack
					plans++
				}
			}
		}
		err := Descend(d, []*Visit{v, beside})
		if (err == nil) != c.taken || v.Taken != c.taken || plans < c.least || plans > c.most {
			t.Fatalf("slack %d: the steps were taken: %t, of %d plans: %v", c.slack, v.Taken, plans, err)
		}
		if c.taken && (!slices.Equal(v.Run.AppendState(nil), want.Run.AppendState(nil)) || !slices.Equal(v.Releases, want.Releases) || !beside.Taken) {
			t.Error("another result than where nothing is left open")
		}
		if !c.taken && !slices.Equal(v.Run.AppendState(nil), before) {
			t.Error("steps that were not taken have left something")
		}
	}
}

// If a device fails, the run must not change, and the CPU must be able to compute the same steps.
func TestFailingDevice(t *testing.T) {
	s := scenes[0]
	s.dim, s.records, s.steps = 40, 30, 50
	d := &spy{Device: devices[0]}
	table := s.table(t, d)
	d.fail = "it burns"
	v := s.visit(t, d, table, 6)
	freed := d.freed
	if err := Descend(d, []*Visit{v}); err == nil || v.Taken || v.Plan.Remaining() != s.steps || d.freed != freed+1 {
		t.Errorf("a launch that fails: %v; taken: %t, %d steps left, %d pieces of memory given back", err, v.Taken, v.Plan.Remaining(), d.freed-freed)
	}
	if err := v.Plan.Next(make([]int64, s.dim), func([]uint32, *dpmech.Accumulator) error { return nil }); err == nil {
		t.Error("steps that a device may have taken are taken here")
	}
	v.Plan.Reclaim()
	if n := len(s.here(t, v.Plan, s.program(t, s.data()), v.Run)); n != s.steps*s.dim {
		t.Errorf("%d numbers were released after a failure", n)
	}
}

func TestVisitsThatDoNotFit(t *testing.T) {
	s := scenes[1]
	d := devices[0]
	table := s.table(t, d)
	for name, change := range map[string]func(v *Visit){
		"joint gradients": func(v *Visit) { v.Options.Joint = true },
		"two draws":       func(v *Visit) { v.Options.Draws = 2 },
		"a clip":          func(v *Visit) { v.Options.Clip = 1 },
		"sgd":             func(v *Visit) { v.Options.Optimiser = gpu.SGD{} },
		"too many steps":  func(v *Visit) { v.Options.Steps-- },
		"a short cavity":  func(v *Visit) { v.Options.CavityMean = nil },
		"little room":     func(v *Visit) { v.Releases = v.Releases[1:] },
		"another device":  func(v *Visit) { v.Table = s.table(t, &spy{Device: d}) },
		"other records":   func(v *Visit) { v.Plan = plan(t, scenes[0].mechanism(t), 1) },
		"a plan that runs": func(v *Visit) {
			v.Plan.Next(make([]int64, s.dim), func([]uint32, *dpmech.Accumulator) error { return nil })
		},
	} {
		v := s.visit(t, d, table, 1)
		change(v)
		if err := Descend(d, []*Visit{v}); err == nil || v.Taken {
			t.Errorf("%s: no error", name)
		}
	}
	for _, r := range []Regression{
		{Family: 9, Dim: 1}, {Dim: 0}, {Dim: MaxDim + 1}, {Dim: 2, Rows: []float64{1}, Outcomes: []float64{1}}, {Family: Robust, Dim: 1}, {Family: NegativeBinomial, Dim: 1}, {Family: Linear, Dim: 1},
	} {
		if _, err := r.Put(d); err == nil {
			t.Errorf("a table of %+v", r)
		}
	}
	if err := Descend(d, nil); err != nil {
		t.Error(err)
	}
}
