//go:build emulator || cuda

package cuda

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/pvi/model"
)

// A play is a model with records on the processor and on a device.
type play struct {
	name     string
	model    *model.Model
	columns  [][]float64
	records  int
	share    float64
	base     Base
	sampling dpmech.Sampling
	steps    int
	table    func(d Device, b Base) (*Table, error)
}

// normalBase has the given priors where they are normal, and wide ones elsewhere.
func (p *play) normalBase(share float64, prior func(name string) (mean, sd float64)) {
	p.share = share
	for _, name := range p.model.Names() {
		mean, sd := prior(name)
		p.base.Mean, p.base.SD = append(p.base.Mean, mean), append(p.base.SD, sd)
	}
	p.base.Share = share
}

func clusters(t testing.TB, components, variables, records int, sampling dpmech.Sampling) *play {
	t.Helper()
	m := Mixture{Components: components, Variables: variables, Concentration: 1.5, Shape: 2.5, Scale: 1.2}
	names := make([]string, variables)
	for v := range names {
		names[v] = fmt.Sprint("v", v)
	}
	src := seeded.Stream(uint64(components), "clusters", uint64(variables))
	for i := range records {
		for v := range variables {
			m.Rows = append(m.Rows, 2*math.Sin(float64(3*(i%components)+v))+uniform(src)/2)
		}
	}
	built, err := model.Mixture(model.MixtureOptions{
		Components: components, Variables: names, Bound: 50, Concentration: m.Concentration, Means: model.Normal{SD: 2}, Shape: m.Shape, Scale: m.Scale,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &play{name: fmt.Sprintf("%d clusters in %d dimensions", components, variables), model: built, columns: [][]float64{m.Rows}, records: records, sampling: sampling, steps: 25}
	p.table = func(d Device, b Base) (*Table, error) {
		m.Base = b
		return NewMixture(d, m)
	}
	means := components - 1 + components*variables
	at := -1
	p.normalBase(0.25, func(string) (float64, float64) {
		if at++; at >= components-1 && at < means {
			return 0, 2
		}
		return 0, 1.5
	})
	return p
}

func groups(t testing.TB, family Family, groups, records int, slopes []int, intercept bool, sampling dpmech.Sampling) *play {
	t.Helper()
	const features = 3
	m := Multilevel{Family: family, Features: features, Intercept: intercept, Groups: groups, Slopes: slopes, Scale: 0.8, Noise: 1.3}
	r := model.Regression{Outcome: "y", Features: []string{"a", "b", "c"}, Bound: 50, Coefficients: model.Normal{Mean: 0.1, SD: 1.5}}
	if intercept {
		r.Intercept = &model.Normal{Mean: 0.2, SD: 2}
	}
	g := model.Groups{Column: "g", Scale: m.Scale}
	for k := range groups {
		g.Names = append(g.Names, fmt.Sprint("g", k))
	}
	for _, k := range slopes {
		g.Slopes = append(g.Slopes, r.Features[k])
	}
	built, err := model.Multilevel(r, g, map[Family]model.Family{Logistic: model.LogisticFamily, Linear: model.GaussianFamily, Poisson: model.PoissonFamily}[family], m.Noise, 1000)
	if err != nil {
		t.Fatal(err)
	}
	src := seeded.Stream(uint64(groups), "groups", uint64(records))
	index := make([]float64, records)
	for i := range records {
		row := []float64{uniform(src), uniform(src), uniform(src)}
		m.Rows = append(m.Rows, row...)
		m.Group = append(m.Group, int(src.Uint64n(uint64(groups))))
		index[i] = float64(m.Group[i])
		at := row[0] - row[1] + math.Sin(index[i])
		switch family {
		case Logistic:
			m.Outcomes = append(m.Outcomes, float64(count(uniform(src) < at)))
		case Linear:
			m.Outcomes = append(m.Outcomes, at+uniform(src)/2)
		case Poisson:
			m.Outcomes = append(m.Outcomes, float64(src.Uint64n(5)))
		}
	}
	p := &play{name: fmt.Sprintf("family %d in %d groups", family, groups), model: built, columns: [][]float64{m.Outcomes, m.Rows, index}, records: records, sampling: sampling, steps: 25}
	p.table = func(d Device, b Base) (*Table, error) {
		m.Base = b
		return NewMultilevel(d, m)
	}
	at := -1
	p.normalBase(0.5, func(string) (float64, float64) {
		at++
		switch varied := features + count(intercept); {
		case at < features:
			return 0.1, 1.5
		case at < varied:
			return 0.2, 2
		case (at-varied)%(1+groups) != 0 && at < m.Dim()-count(family == Linear):
			return 0, 1
		}
		return 0, 1.5
	})
	return p
}

// prior adds what the prior has beyond the base, by the model's own derivatives.
func (p *play) prior(rate float64) func(total, theta []float64) {
	shared := p.model.Shared()
	gradient := make([]float64, p.model.Dim())
	return func(total, theta []float64) {
		clear(gradient)
		shared.Set(theta)
		shared.LogPrior(gradient)
		for i, x := range theta {
			z := (x - p.base.Mean[i]) / p.base.SD[i]
			total[i] += rate * p.share * (gradient[i] + z/p.base.SD[i])
		}
	}
}

func (p *play) options(t testing.TB) gpu.MeanFieldOptions {
	d := p.model.Dim()
	o := scene{dim: d, steps: p.steps, sampling: p.sampling}.options(t)
	copy(o.CavityMean, p.base.Mean)
	for i, sd := range p.base.SD {
		o.CavityPrecision[i] = 1 / (sd * sd)
	}
	return o
}

func (p *play) start(t testing.TB, o gpu.MeanFieldOptions) *gpu.MeanField {
	t.Helper()
	src := seeded.Stream(1, "start")
	mean, sd := make([]float64, p.model.Dim()), make([]float64, p.model.Dim())
	for i := range mean {
		mean[i], sd[i] = uniform(src), 0.2
	}
	run, err := gpu.NewMeanField(mean, sd, o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (p *play) evaluator(t testing.TB) gpu.Evaluator {
	t.Helper()
	table, err := p.model.Load(p.records, p.columns)
	if err != nil {
		t.Fatal(err)
	}
	e, err := gpu.CPU{}.Compile(p.model, table)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Whole runs of mixtures and of multilevel regressions against the processor's engine,
// with the parts of their priors that are not normal.
func TestModelsAgreeWithTheProcessor(t *testing.T) {
	poisson := func(rate float64) dpmech.Sampling { return dpmech.Poisson{Rate: rate, Selection: dpmech.Feistel} }
	for i, p := range []*play{
		clusters(t, 2, 1, 1, poisson(0.9)),
		clusters(t, 5, 2, 400, poisson(0.25)),
		clusters(t, 3, 4, 257, dpmech.FullBatch{}),
		clusters(t, 20, 5, 100, poisson(0.4)),
		groups(t, Logistic, 3, 333, nil, true, poisson(0.3)),
		groups(t, Logistic, 2, 1, nil, false, poisson(1)),
		groups(t, Linear, 7, 500, []int{1}, true, poisson(0.2)),
		groups(t, Poisson, 4, 200, []int{0, 2}, false, dpmech.FullBatch{}),
		groups(t, Linear, 500, 2000, nil, true, poisson(0.05)),
	} {
		d := devices[i%len(devices)]
		for _, clip := range []float64{0.3, 50} {
			table, err := p.table(d, p.base)
			if err != nil {
				t.Fatal(err)
			}
			m := mechanism(t, p.sampling, p.records, p.steps, p.model.Dim(), clip, 1)
			o := p.options(t)
			v := &Visit{Table: table, Plan: plan(t, m, 1), Options: o, Run: p.start(t, o), Releases: make([]int64, p.steps*p.model.Dim())}
			if err := Descend(d, []*Visit{v}); err != nil || !v.Taken {
				t.Fatalf("%s: taken: %t: %v", p.name, v.Taken, err)
			}
			run := p.start(t, p.options(t))
			releases := takeHere(t, plan(t, m, 1), p.evaluator(t), run, p.prior(o.Rate))
			if e := far(v.Run.AppendState(nil), run.AppendState(nil)); !(e < 1e-8) {
				t.Errorf("%s, clip %g: the state is %g from that of the processor", p.name, clip, e)
			}
			steps := clip / m.Lattice().Step()
			for k, n := range releases {
				if off := math.Abs(float64(v.Releases[k] - n)); off > float64(p.records)*(1+1e-8*steps) {
					t.Fatalf("%s, clip %g: number %d of step %d is %d, want %d", p.name, clip, k%m.Dim(), k/m.Dim(), v.Releases[k], n)
				}
			}
			if err := table.Free(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Whatever a record holds, it adds no more than the clip, and nothing if its gradient is
// not finite.
func TestNoRecordAddsMoreThanTheClip(t *testing.T) {
	const clip = 0.7
	base := func(d int) Base {
		b := Base{Mean: make([]float64, d), SD: make([]float64, d)}
		for i := range b.SD {
			b.SD[i] = 1
		}
		return b
	}
	for _, x := range []float64{0, -3, 1e5, 1e80, -1e160, 1e300, math.Inf(1), math.NaN()} {
		tables := []func(d Device) (*Table, error){
			func(d Device) (*Table, error) {
				m := Mixture{Components: 3, Variables: 2, Rows: []float64{x, 1}, Concentration: 1, Shape: 1, Scale: 1}
				m.Base = base(m.Dim())
				return NewMixture(d, m)
			},
			func(d Device) (*Table, error) {
				m := Multilevel{Family: Linear, Features: 2, Groups: 2, Slopes: []int{0}, Rows: []float64{1, x}, Group: []int{1}, Outcomes: []float64{-x}, Scale: 1, Noise: 1}
				m.Base = base(m.Dim())
				return NewMultilevel(d, m)
			},
			func(d Device) (*Table, error) {
				return NewTable(d, Regression{Family: Poisson, Dim: 3, Rows: []float64{1, x, 1}, Outcomes: []float64{2}})
			},
		}
		for k, table := range tables {
			d := devices[k]
			on, err := table(d)
			if err != nil {
				t.Fatal(err)
			}
			p := play{steps: 1, base: base(on.dim), sampling: dpmech.FullBatch{}}
			m := mechanism(t, p.sampling, 1, 1, on.dim, clip, 1)
			o := scene{dim: on.dim, steps: 1, sampling: p.sampling}.options(t)
			run, err := gpu.NewMeanField(p.base.Mean, p.base.SD, o)
			if err != nil {
				t.Fatal(err)
			}
			v := &Visit{Table: on, Plan: plan(t, m, 3), Options: o, Run: run, Releases: make([]int64, on.dim)}
			if err := Descend(d, []*Visit{v}); err != nil || !v.Taken {
				t.Fatalf("taken: %t: %v", v.Taken, err)
			}
			noise := make([]int64, on.dim)
			if err := plan(t, m, 3).Next(noise, func([]uint32, *dpmech.Accumulator) error { return nil }); err != nil {
				t.Fatal(err)
			}
			var squares float64
			for j, n := range v.Releases {
				squares += float64(n-noise[j]) * float64(n-noise[j])
			}
			finite := !math.IsNaN(x) && !math.IsInf(x, 0)
			if norm := math.Sqrt(squares) * m.Lattice().Step(); norm > clip || !finite && norm != 0 {
				t.Errorf("kind %d: a record with %g adds a norm of %g, the clip is %g", k, x, norm, clip)
			} else if k < 2 && x == 1e5 && norm < clip*(1-1e-6) {
				t.Errorf("kind %d: a record far beyond the clip adds a norm of %g", k, norm)
			}
			if err := on.Free(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestModelsThatDoNotFit(t *testing.T) {
	d := devices[0]
	for _, m := range []Mixture{
		{Components: 1, Variables: 1},
		{Components: 40, Variables: 40, Concentration: 1, Shape: 1, Scale: 1},
		{Components: 2, Variables: 2, Rows: []float64{1}, Concentration: 1, Shape: 1, Scale: 1},
		{Components: 2, Variables: 1, Shape: 1, Scale: 1},
		{Components: 2, Variables: 1, Concentration: 1, Shape: 1, Scale: 1},
	} {
		if _, err := NewMixture(d, m); err == nil {
			t.Errorf("a table of %+v", m)
		}
	}
	good := func() Multilevel {
		return Multilevel{
			Features: 1, Groups: 2, Rows: []float64{1}, Group: []int{1}, Outcomes: []float64{0}, Scale: 1,
			Base: Base{Mean: make([]float64, 4), SD: []float64{1, 1, 1, 1}},
		}
	}
	table, err := NewMultilevel(d, good())
	if err != nil {
		t.Fatal(err)
	}
	table.Free()
	for name, change := range map[string]func(m *Multilevel){
		"a group that there is not": func(m *Multilevel) { m.Group[0] = 2 },
		"a group below zero":        func(m *Multilevel) { m.Group[0] = -1 },
		"a slope of nothing":        func(m *Multilevel) { m.Slopes = []int{1} },
		"no groups":                 func(m *Multilevel) { m.Groups = 0 },
		"many groups":               func(m *Multilevel) { m.Groups = MaxDim },
		"rows and outcomes":         func(m *Multilevel) { m.Outcomes = nil },
		"no scale":                  func(m *Multilevel) { m.Scale = 0 },
		"no noise":                  func(m *Multilevel) { m.Family = Linear },
		"another base":              func(m *Multilevel) { m.Base.SD = nil },
		"another family":            func(m *Multilevel) { m.Family = 3 },
	} {
		m := good()
		change(&m)
		if _, err := NewMultilevel(d, m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
