package gpu

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// options returns the options of a run over all records without a clip. It takes plain ascent steps
// of size 1, so an update moves the point by exactly the gradient.
func options(d, draws int, joint bool) MeanFieldOptions {
	o := MeanFieldOptions{
		Draws: draws, Joint: joint, Clip: math.Inf(1), Rate: 1, Optimiser: SGD{}, Schedule: LinearDecay{1, 1}, Steps: 10,
	}
	for i := range d {
		o.CavityMean = append(o.CavityMean, .1*float64(i))
		o.CavityPrecision = append(o.CavityPrecision, 1+.5*float64(i))
	}
	return o
}

// The test compares the direction of a step with the gradient of the free energy at the same draws.
// The free energy comes from log densities and from the textbook formula for the divergence between
// two Gaussians. The cases have the options Joint, Inside and Preconditioned, or none of them.
func TestMeanFieldGradient(t *testing.T) {
	m := build(t, "slopes")
	rng := rand.New(rand.NewSource(1))
	const rows, draws = 40, 3
	table := randomTable(t, m, rng, rows, 1)
	e := compile(t, CPU{}, m, table)
	d := m.Dim()
	mean, sd := randomPoint(m, rng, .3), make([]float64, d)
	for i := range sd {
		sd[i] = .2 + rng.Float64()
	}
	seed := rng.Int63()
	point := slices.Concat(mean, make([]float64, d))
	for i := range sd {
		point[d+i] = math.Log(sd[i])
	}
	o := options(d, draws, false)
	want := make([]float64, 2*d)
	for i := range want {
		want[i] = difference(point, i, func() float64 { return freeEnergy(t, m, table, point, seed, &o) })
	}
	for name, change := range map[string]func(o *MeanFieldOptions){
		"aligned": func(*MeanFieldOptions) {},
		"joint":   func(o *MeanFieldOptions) { o.Joint = true },
		"inside":  func(o *MeanFieldOptions) { o.Joint, o.Inside, o.Records = true, true, rows },

		"preconditioned": func(o *MeanFieldOptions) { o.Joint, o.Preconditioned = true, true },
	} {
		o := options(d, draws, false)
		change(&o)
		run := newRun(t, mean, sd, o)
		before := slices.Clone(run.point)
		q := run.Next(normals(seed), nil)
		sum, _ := sumOf(t, e, q)
		run.Update(sum)
		for i := range want {
			if got := run.point[i] - before[i]; math.Abs(got-want[i]) > 1e-6*(1+math.Abs(want[i])) {
				t.Errorf("%s: gradient %g in parameter %d, differences give %g", name, got, i, want[i])
			}
		}
	}
}

func newRun(t fatal, mean, sd []float64, o MeanFieldOptions) *MeanField {
	t.Helper()
	run, err := NewMeanField(mean, sd, o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func normals(seed int64) func([]float64) {
	rng := rand.New(rand.NewSource(seed))
	return func(dst []float64) {
		for i := range dst {
			dst[i] = rng.NormFloat64()
		}
	}
}

// freeEnergy returns the mean over draws of Σ ℓ_n, minus the divergence from the cavity.
func freeEnergy(t *testing.T, m *model.Model, table *model.Table, point []float64, seed int64, o *MeanFieldOptions) float64 {
	d := m.Dim()
	total, draw := 0., normals(seed)
	epsilon, theta, density := make([]float64, d), make([]float64, d), make([]float64, table.Rows)
	for range o.Draws {
		draw(epsilon)
		for i := range theta {
			s := math.Exp(point[d+i])
			theta[i] = point[i] + s*epsilon[i]
		}
		m.LogDensities(density, theta, table)
		for _, l := range density {
			total += l / float64(o.Draws)
		}
	}
	for i := range d {
		s := math.Exp(point[d+i])
		b, gap := o.CavityPrecision[i], point[i]-o.CavityMean[i]
		total -= .5*(b*s*s+b*gap*gap-1) - .5*math.Log(b*s*s)
	}
	if math.IsNaN(total) {
		t.Fatal("the free energy is NaN")
	}
	return total
}

// With each optimiser, a run must reach the exact posterior, which is known for a Gaussian
// likelihood of known variance.
func TestMeanFieldReachesPosterior(t *testing.T) {
	b := model.NewBuilder("mean")
	y := b.Real("y", -100, 100)
	m, err := b.Build(b.LogDensity(ir.Normal, y, b.Scalar("mu", model.Free, b.Normal(unit)), b.Number(1)))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewSource(3))
	const rows = 24
	values, sum := make([]float64, rows), 0.
	for i := range values {
		values[i] = 2 + rng.NormFloat64()
		sum += values[i]
	}
	table := load(t, m, rows, [][]float64{values})
	e := compile(t, CPU{}, m, table)
	for name, c := range map[string]struct {
		optimiser Optimiser
		schedule  Schedule
	}{
		"adam":    {NewAdam(2), LinearDecay{.1, .002}},
		"adagrad": {NewAdaGrad(2), LinearDecay{.5, .5}},
		"natural": {Natural{1}, LinearDecay{.2, .004}},
		"sgd":     {SGD{}, powerDecay{.02, 100, .7}},
	} {
		o := options(1, 1, false)
		o.CavityMean, o.CavityPrecision = []float64{0}, []float64{1}
		o.Optimiser, o.Schedule, o.Steps, o.Average = c.optimiser, c.schedule, 3000, .5
		run, draw := newRun(t, []float64{0}, []float64{.5}, o), normals(1)
		for range o.Steps {
			g, _ := sumOf(t, e, run.Next(draw, nil))
			run.Update(g)
		}
		mean, sd := make([]float64, 1), make([]float64, 1)
		run.Averaged(mean, sd)
		if wantMean, wantSD := sum/(rows+1), math.Sqrt(1./(rows+1)); math.Abs(mean[0]-wantMean) > .02 || math.Abs(sd[0]/wantSD-1) > .05 {
			t.Errorf("%s: mean %g and sd %g, want %g and %g", name, mean[0], sd[0], wantMean, wantSD)
		}
	}
}

func TestMeanFieldStepDoesNotAllocate(t *testing.T) {
	m := build(t, "logistic")
	rng := rand.New(rand.NewSource(1))
	e := compile(t, CPU{}, m, randomTable(t, m, rng, 500, 1))
	o := options(m.Dim(), 2, true)
	o.Optimiser = NewAdam(2 * m.Dim())
	run := newRun(t, make([]float64, m.Dim()), slices.Repeat([]float64{.1}, m.Dim()), o)
	draw, sum := normals(1), make([]float64, 4*m.Dim())
	batch := []int32{4, 1, 99}
	if n := testing.AllocsPerRun(5, func() {
		if _, err := e.Sum(sum, run.Next(draw, batch)); err != nil {
			t.Fatal(err)
		}
		run.Update(sum)
	}); n > 0 {
		t.Errorf("%g allocations for a step", n)
	}
}

func TestMeanFieldErrors(t *testing.T) {
	for name, change := range map[string]func(o *MeanFieldOptions){
		"no draws": func(o *MeanFieldOptions) { o.Draws = 0 }, "no rate": func(o *MeanFieldOptions) { o.Rate = 0 },
		"rate above 1": func(o *MeanFieldOptions) { o.Rate = 1.1 }, "no clip": func(o *MeanFieldOptions) { o.Clip = 0 },
		"inside without joint":   func(o *MeanFieldOptions) { o.Inside, o.Records = true, 3 },
		"inside without records": func(o *MeanFieldOptions) { o.Inside, o.Joint = true, true },
		"no optimiser":           func(o *MeanFieldOptions) { o.Optimiser = nil }, "no schedule": func(o *MeanFieldOptions) { o.Schedule = nil },
		"no steps": func(o *MeanFieldOptions) { o.Steps = 0 }, "average": func(o *MeanFieldOptions) { o.Average = 2 },
		"cavity": func(o *MeanFieldOptions) { o.CavityMean = nil },
	} {
		o := options(1, 1, false)
		change(&o)
		if _, err := NewMeanField([]float64{0}, []float64{1}, o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := NewMeanField([]float64{0}, []float64{0}, options(1, 1, false)); err == nil {
		t.Error("no spread is accepted")
	}
}

// The steps of each optimiser must have the lengths that were computed by hand.
func TestOptimiserSteps(t *testing.T) {
	for name, c := range map[string]struct {
		o    Optimiser
		want float64
	}{
		// Each optimiser takes two steps with gradients 2 and 1 at rate .1.
		"sgd":     {SGD{}, .3},
		"adam":    {NewAdam(1), .1 + .1*(.28/.19)/math.Sqrt(.004996/.001999)},
		"adagrad": {NewAdaGrad(1), .1 + .1/math.Sqrt(5)},
	} {
		x := []float64{0}
		for range 2 {
			x[0] = 0
			c.o.Reset()
			c.o.Step(x, []float64{2}, .1)
			c.o.Step(x, []float64{1}, .1)
			if math.Abs(x[0]-c.want) > 1e-8 {
				t.Errorf("%s: %g, want %g", name, x[0], c.want)
			}
		}
	}
	if l := (LinearDecay{1, .2}); l.Rate(0, 5) != 1 || math.Abs(l.Rate(4, 5)-.2) > 1e-15 || math.Abs(l.Rate(2, 5)-.6) > 1e-15 || l.Rate(0, 1) != 1 {
		t.Error("linear decay")
	}
}

// powerDecay is the schedule First/(1 + t/Delay)^Power, the steps of Robbins and Monro (1951)
// for Power in (½, 1].
type powerDecay struct{ First, Delay, Power float64 }

func (p powerDecay) Rate(t, _ int) float64 {
	return p.First * math.Pow(1+float64(t)/p.Delay, -p.Power)
}
