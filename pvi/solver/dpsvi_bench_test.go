package solver

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

// logistic is a logistic regression on d columns with prior N(0, 1), and n records made
// from it: x has an intercept and is else uniform in [−1, 1]/√d.
func logistic(t testing.TB, n, d int) (*model.Model, [][]float64) {
	t.Helper()
	b := model.NewBuilder("logistic regression")
	var names []string
	for j := range d {
		names = append(names, fmt.Sprint("x", j))
	}
	y, x := b.Integer("y", 0, 1), b.Reals("x", names, -1, 1)
	eta := b.Linear(x, b.Vector("beta", names, model.Free, b.Normal(model.Normal{SD: 1})))
	m, err := b.Build(b.LogDensity(ir.BernoulliLogit, y, eta))
	if err != nil {
		t.Fatal(err)
	}
	src := seeded.Stream(1, "records")
	uniform := func() float64 { return float64(src.Uint64()>>11) * 0x1p-53 }
	rows, outcomes := make([]float64, 0, n*d), make([]float64, 0, n)
	for range n {
		at := 0.0
		for j := range d {
			v := 1.0
			if j > 0 {
				v = 2*uniform() - 1
			}
			v /= math.Sqrt(float64(d))
			rows = append(rows, v)
			at += v * 2 * math.Cos(float64(j))
		}
		hit := 0.0
		if uniform() < 1/(1+math.Exp(-at)) {
			hit = 1
		}
		outcomes = append(outcomes, hit)
	}
	return m, [][]float64{outcomes, rows}
}

// program loads records as a solver sees them.
func program(t testing.TB, m *model.Model, n int, columns [][]float64) *Program {
	t.Helper()
	table, err := m.Load(n, columns)
	if err != nil {
		t.Fatal(err)
	}
	base := Base{Mean: make([]float64, m.Dim()), SD: make([]float64, m.Dim())}
	for i := range base.SD {
		base.SD[i] = 1
	}
	p, err := NewProgram(m, table, base, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sampled returns the mechanism of a descent.
func sampled(t testing.TB, c dpmech.SampledConfig) *dpmech.SampledSum {
	t.Helper()
	if c.Adjacency == "" {
		c.Adjacency = accountant.AddRemove
	}
	m, err := dpmech.NewSampledSum(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func options(steps int, rate float64) DPSVIOptions {
	return DPSVIOptions{
		Steps: steps, Draws: 1, Rate: rate, Gradients: study.Aligned, Optimiser: study.Adam,
		Schedule: gpu.LinearDecay{First: 0.1, Last: 0.005}, Average: 0.5, InitialSD: 0.1,
	}
}

// standard is the problem of a first visit with a standard normal prior.
func standard(d int) Problem {
	natural := make([]float64, 2*d)
	for i := range d {
		natural[d+i] = 1
	}
	return Problem{Family: gaussian.Diagonal(d), Mean: make([]float64, d), Natural: natural, Cavity: natural, Weight: 1}
}

// BenchmarkPrivateStep is the whole of a step: batch, gradients, clip, noise, update.
func BenchmarkPrivateStep(b *testing.B) {
	const n, batch = 39073, 195
	for _, d := range []int{14, 108} {
		m, columns := logistic(b, n, d)
		p := program(b, m, n, columns)
		for _, joint := range []bool{false, true} {
			name, size := fmt.Sprintf("d=%d/aligned", d), d
			if joint {
				name, size = fmt.Sprintf("d=%d/joint", d), 2*d
			}
			b.Run(name, func(b *testing.B) {
				steps := b.N
				c := dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: float64(batch) / n}, Records: n, Steps: steps, Dim: size, Clip: 0.5, NoiseMultiplier: 2}
				o := options(steps, float64(batch)/n)
				if joint {
					o.Gradients = study.Joint
				}
				s, err := NewDPSVI(p, sampled(b, c), o)
				if err != nil {
					b.Fatal(err)
				}
				dst, src := make([]float64, 2*d), seeded.Stream(1, "bench")
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := s.Propose(dst, standard(d), src); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkPlainStep is a step with neither clip, nor noise, nor lattice: batch, gradient
// sum, update.
func BenchmarkPlainStep(b *testing.B) {
	const n, batch = 39073, 195
	for _, d := range []int{14, 108} {
		m, columns := logistic(b, n, d)
		p := program(b, m, n, columns)
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			adam, err := gpu.NewAdam(2*d, 0.9, 0.999, 1e-8)
			if err != nil {
				b.Fatal(err)
			}
			q, sd := standard(d), make([]float64, d)
			for i := range sd {
				sd[i] = 0.1
			}
			run, err := gpu.NewMeanField(q.Mean, sd, gpu.MeanFieldOptions{
				Draws: 1, Rate: float64(batch) / n, Clip: math.Inf(1), CavityMean: q.Mean, CavityPrecision: q.Cavity[d:],
				Optimiser: adam, Schedule: gpu.LinearDecay{First: 0.1, Last: 0.005}, Steps: b.N, Average: 0.5,
			})
			if err != nil {
				b.Fatal(err)
			}
			sampler, err := dpmech.Poisson{Rate: float64(batch) / n}.Sampler(n)
			if err != nil {
				b.Fatal(err)
			}
			src, draws := seeded.Stream(1, "batches"), seeded.Stream(1, "draws")
			chosen, rows, sum := make([]uint32, 0, sampler.MaxBatch()), make([]int32, 0, sampler.MaxBatch()), make([]float64, d)
			normals := func(v []float64) { dpmech.FillNormal(v, draws) }
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				chosen, rows = sampler.Next(chosen[:0], src), rows[:0]
				for _, i := range chosen {
					rows = append(rows, int32(i))
				}
				if _, err := p.records.Sum(sum, run.Next(normals, rows)); err != nil {
					b.Fatal(err)
				}
				run.Update(sum)
			}
		})
	}
}
