//go:build emulator || cuda

package cuda

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/internal/testing/programs"
	"fedpvi/pvi/model"
)

// A play is a test case: a model and records, both in the CPU's form and in a device's form.
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

// normalBase sets the normal distributions in p.base, and the share of the prior. The function
// prior maps the name of a coordinate to a mean and an sd. If the coordinate has a normal prior,
// these must be the prior's. Otherwise they should describe a wide distribution.
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
	const concentration, shape, scale = 1.5, 2.5, 1.2
	m := Mixture{Dim: components - 1 + 2*components*variables, Components: components, Variables: variables, Weights: true, Growth: 1}
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
	built, err := programs.Mixture{
		Components: components, Variables: names, Concentration: concentration, Means: model.Normal{SD: 2}, Shape: shape, Scale: scale,
	}.Build(50)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{name: fmt.Sprintf("%d clusters in %d dimensions", components, variables), model: built, columns: [][]float64{m.Rows}, records: records, sampling: sampling, steps: 25}
	p.table = func(d Device, b Base) (*Table, error) {
		m.Base = b
		return m.Put(d)
	}
	priors := make([]Prior, m.Dim)
	for k := range components - 1 {
		priors[k] = Prior{StickPrior, concentration, float64(components - 1 - k)}
	}
	for v := range variables {
		m.Means = append(m.Means, components-1+v*components)
		m.Spreads = append(m.Spreads, components-1+(variables+v)*components)
		for k := range components {
			priors[m.Spreads[v]+k] = Prior{LogInverseGamma, shape, scale}
		}
	}
	p.base.Priors = priors
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
	const between, noise = 0.8, 1.3
	coefficients := features + count(intercept)
	vary := 1 + len(slopes)
	m := Multilevel{Family: family, Features: coefficients, Dim: coefficients + vary*(1+groups) + count(family == Linear), Scale: -1}
	priors := make([]Prior, m.Dim)
	for e := range vary {
		at := coefficients + e*(1+groups)
		priors[at] = Prior{LogHalfNormal, between * between, 0}
		m.Effects = append(m.Effects, Effect{Spread: at, First: at + 1, Groups: groups})
	}
	if family == Linear {
		m.Scale = m.Dim - 1
		priors[m.Scale] = Prior{LogHalfCauchy, noise * noise, 0}
	}
	r := programs.Regression{
		Features: []string{"a", "b", "c"}, Bound: 50, Coefficients: model.Normal{Mean: 0.1, SD: 1.5}, Scale: noise, Most: 1000,
		Groups: programs.Groups{Scale: between},
	}
	if intercept {
		r.Intercept = &model.Normal{Mean: 0.2, SD: 2}
	}
	for k := range groups {
		r.Groups.Names = append(r.Groups.Names, fmt.Sprint("g", k))
	}
	for _, k := range slopes {
		r.Groups.Slopes = append(r.Groups.Slopes, r.Features[k])
	}
	built, err := r.Build(map[Family]programs.Family{Logistic: programs.Logistic, Linear: programs.Linear, Poisson: programs.Poisson}[family])
	if err != nil {
		t.Fatal(err)
	}
	src := seeded.Stream(uint64(groups), "groups", uint64(records))
	index, x := make([]float64, records), make([]float64, 0, records*features)
	for i := range records {
		row := []float64{uniform(src), uniform(src), uniform(src)}
		m.Rows = append(m.Rows, row...)
		if intercept {
			m.Rows = append(m.Rows, 1)
		}
		x = append(x, row...)
		group := int(src.Uint64n(uint64(groups)))
		index[i] = float64(group)
		for e := range m.Effects {
			m.Effects[e].Group = append(m.Effects[e].Group, group)
			if e > 0 {
				m.Effects[e].Carrier = append(m.Effects[e].Carrier, row[slopes[e-1]])
			}
		}
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
	p := &play{name: fmt.Sprintf("family %d in %d groups", family, groups), model: built, columns: [][]float64{m.Outcomes, x, index}, records: records, sampling: sampling, steps: 25}
	p.table = func(d Device, b Base) (*Table, error) {
		m.Base = b
		return m.Put(d)
	}
	p.base.Priors = priors
	at := -1
	p.normalBase(0.5, func(string) (float64, float64) {
		at++
		switch varied := features + count(intercept); {
		case at < features:
			return 0.1, 1.5
		case at < varied:
			return 0.2, 2
		case (at-varied)%(1+groups) != 0 && at < m.Dim-count(family == Linear):
			return 0, 1
		}
		return 0, 1.5
	})
	return p
}

// prior returns a function that adds rate times this problem's share of the gradient of
// log(prior/base) to total. It computes the gradient with package model, independently of the
// kernels.
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

// The test runs the steps of mixtures and of multilevel regressions both on a device and on the
// CPU, and compares the results. Some priors are not normal.
func TestModelsAgreeWithTheProcessor(t *testing.T) {
	poisson := func(rate float64) dpmech.Sampling { return dpmech.Poisson{Rate: rate, Selection: dpmech.Feistel} }
	for i, p := range []*play{
		clusters(t, 2, 1, 1, poisson(0.9)),
		clusters(t, 5, 2, 400, poisson(0.25)),
		clusters(t, 3, 4, 257, dpmech.FullBatch{}),
		clusters(t, 20, 5, 100, poisson(0.4)),
		clusters(t, 2, 3, 50, poisson(0)),
		clusters(t, 3, 2, 100_000, poisson(0.0005)),
		groups(t, Logistic, 3, 333, nil, true, poisson(0.3)),
		groups(t, Logistic, 2, 1, nil, false, poisson(1)),
		groups(t, Linear, 7, 500, []int{1}, true, poisson(0.2)),
		groups(t, Poisson, 4, 200, []int{0, 2}, false, dpmech.FullBatch{}),
		groups(t, Linear, 500, 2000, nil, true, poisson(0.05)),
		groups(t, Logistic, 5, 50, []int{1}, true, poisson(0)),
		groups(t, Logistic, 9, 100_000, nil, true, poisson(0.0005)),
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
			releases := takeHere(t, plan(t, m, 1), evaluator(t, p.model, p.records, p.columns...), run, p.prior(o.Rate))
			if e := far(v.Run.AppendState(nil), run.AppendState(nil)); !(e < 1e-8) {
				t.Errorf("%s, clip %g: the state on the device differs by %g from the state on the CPU", p.name, clip, e)
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

// The norm of a record's contribution must not exceed the clip. If the gradient of a record is not
// finite, the record must contribute zero.
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
		for k, records := range []Records{
			Mixture{Dim: 14, Components: 3, Variables: 2, Weights: true, Means: []int{2, 5}, Spreads: []int{8, 11}, Growth: 2, Rows: []float64{x, 1}},
			Multilevel{
				Family: Linear, Dim: 6, Features: 2, Scale: 5, Rows: []float64{1, x}, Outcomes: []float64{-x},
				Effects: []Effect{{Spread: 2, First: 3, Groups: 2, Group: []int{1}, Carrier: []float64{x}}},
			},
			Multilevel{Family: Robust, Degrees: 3, Dim: 3, Features: 2, Scale: 2, Rows: []float64{1, x}, Outcomes: []float64{-x}},
			Multilevel{Family: NegativeBinomial, Dim: 3, Features: 2, Scale: 2, Rows: []float64{1, x}, Outcomes: []float64{x}},
			Regression{Family: Poisson, Dim: 3, Rows: []float64{1, x, 1}, Outcomes: []float64{2}},
			Regression{Family: Probit, Dim: 3, Rows: []float64{1, x, 1}, Outcomes: []float64{1}},
		} {
			d := devices[k%len(devices)]
			on, err := records.Put(d)
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
	mixture := func() *Mixture {
		return &Mixture{Dim: 9, Components: 2, Variables: 2, Weights: true, Means: []int{1, 5}, Spreads: []int{3, 7}, Growth: 2, Rows: []float64{1, 2}}
	}
	for name, change := range map[string]func(m *Mixture){
		"as it is":             func(*Mixture) {},
		"coordinates shared":   func(m *Mixture) { m.Means[1] = 2 },
		"a coordinate too far": func(m *Mixture) { m.Dim = 8 },
		"one below zero":       func(m *Mixture) { m.Means[0] = -1 },
		"no components":        func(m *Mixture) { m.Components = 0 },
		"many components":      func(m *Mixture) { m.Components = 1 << 40 },
		"a variable missing":   func(m *Mixture) { m.Means = m.Means[1:] },
		"half a row":           func(m *Mixture) { m.Rows = m.Rows[1:] },
		"no growth":            func(m *Mixture) { m.Growth = 0 },
		"no precision":         func(m *Mixture) { m.Spreads = nil },
		"another base":         func(m *Mixture) { m.Base.Priors = make([]Prior, 8) },
	} {
		m := mixture()
		change(m)
		checkFits(t, d, name, m)
	}
	multilevel := func() *Multilevel {
		return &Multilevel{
			Family: Linear, Dim: 5, Features: 1, Scale: 4, Rows: []float64{1}, Outcomes: []float64{0},
			Effects: []Effect{{Spread: 1, First: 2, Groups: 2, Group: []int{1}}},
		}
	}
	for name, change := range map[string]func(m *Multilevel){
		"as it is":                  func(*Multilevel) {},
		"a group that there is not": func(m *Multilevel) { m.Effects[0].Group[0] = 2 },
		"a group below zero":        func(m *Multilevel) { m.Effects[0].Group[0] = -1 },
		"no group of a record":      func(m *Multilevel) { m.Effects[0].Group = nil },
		"two carriers":              func(m *Multilevel) { m.Effects[0].Carrier = []float64{1, 1} },
		"no groups":                 func(m *Multilevel) { m.Effects[0].Groups = 0 },
		"many groups":               func(m *Multilevel) { m.Effects[0].Groups = 1 << 40 },
		"coordinates shared":        func(m *Multilevel) { m.Effects[0].Spread = 2 },
		"rows and outcomes":         func(m *Multilevel) { m.Rows = nil },
		"no noise":                  func(m *Multilevel) { m.Scale = -1 },
		"noise of counts":           func(m *Multilevel) { m.Family = Poisson },
		"another base":              func(m *Multilevel) { m.Base.Priors = make([]Prior, 4) },
		"another family":            func(m *Multilevel) { m.Family = families },
		"a spread of probit":        func(m *Multilevel) { m.Family = Probit },
		"no degrees of freedom":     func(m *Multilevel) { m.Family = Robust },
		"no spread of counts":       func(m *Multilevel) { m.Family, m.Scale = NegativeBinomial, -1 },
	} {
		m := multilevel()
		change(m)
		checkFits(t, d, name, m)
	}
}

// checkFits checks that a device accepts the records r if name is "as it is", and refuses them
// otherwise.
func checkFits(t *testing.T, d Device, name string, r Records) {
	t.Helper()
	table, err := r.Put(d)
	if (err == nil) != (name == "as it is") {
		t.Errorf("%T, %s: %v", r, name, err)
	}
	if err == nil {
		table.Free()
	}
}
