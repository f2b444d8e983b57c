package gpu

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"fedpvi/internal/testing/programs"
	"fedpvi/pvi/model"
)

// The benchmarks in this file run on one core. They compute values, gradients, norms and clipped
// sums over a random batch. The table has 39,073 rows, like the Adult data, and the batch 2000. The
// unit of the results is ns per record.

const (
	benchRows  = 39_073
	benchBatch = 2_000
)

func features(d int) []string {
	names := make([]string, d)
	for i := range names {
		names[i] = fmt.Sprint("x", i)
	}
	return names
}

func benchRegression(d int) programs.Regression {
	return programs.Regression{Features: features(d), Coefficients: unit, Most: 1000}
}

// varyingIntercept returns a model like the one for the radon data: a regression with one feature,
// and an intercept for each of 85 groups. θ has 89 coordinates.
func varyingIntercept() (*model.Model, error) {
	r := benchRegression(1)
	r.Intercept = &unit
	r.Groups = programs.Groups{Names: features(85), Scale: 1}
	return r.Build(programs.Linear)
}

func twoNormals() (*model.Model, error) {
	return programs.Mixture{Components: 2, Variables: []string{"x"}, Concentration: 1, Means: unit, Shape: 2, Scale: 1}.Build(50)
}

var benchmarks = []struct {
	name  string
	build func() (*model.Model, error)
}{
	{"logistic-14", func() (*model.Model, error) { return benchRegression(14).Build(programs.Logistic) }},
	{"logistic-108", func() (*model.Model, error) { return benchRegression(108).Build(programs.Logistic) }},
	{"intercept-85", varyingIntercept},
	{"mixture-2", twoNormals},
	{"linear-14", func() (*model.Model, error) { return benchRegression(14).Build(programs.Linear) }},
	{"poisson-14", func() (*model.Model, error) { return benchRegression(14).Build(programs.Poisson) }},
	{"negbin-14", func() (*model.Model, error) { return benchRegression(14).Build(programs.NegativeBinomial) }},
	{"robust-14", func() (*model.Model, error) { return benchRegression(14).Build(programs.Robust) }},
	{"probit-14", func() (*model.Model, error) { return benchRegression(14).Build(programs.Probit) }},
	{"softmax-14x3", func() (*model.Model, error) { return benchRegression(14).Softmax([]string{"a", "b", "c"}) }},
	{"network-14-10", func() (*model.Model, error) { return benchRegression(14).Network(10, programs.Logistic) }},
}

func benchSetup(b fatal, engine CPU, build func() (*model.Model, error)) (*cpu, *Query, []float64) {
	m, err := build()
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewSource(1))
	e := compile(b, engine, m, randomTable(b, m, rng, benchRows, 1))
	q := &Query{Draws: [][]float64{randomPoint(m, rng, .3)}, Clip: 2}
	for range benchBatch {
		q.Batch = append(q.Batch, int32(rng.Intn(benchRows)))
	}
	return e, q, make([]float64, m.Dim())
}

func BenchmarkSum(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			e, q, g := benchSetup(b, CPU{}, c.build)
			run(b, benchBatch, func() error { _, err := e.Sum(g, q); return err })
		})
	}
}

// BenchmarkGeneric measures evaluation without the fused kernels.
func BenchmarkGeneric(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			e, q, g := benchSetup(b, CPU{Generic: true}, c.build)
			run(b, benchBatch, func() error { _, err := e.Sum(g, q); return err })
		})
	}
}

// BenchmarkEach measures [Evaluator.Each] alone, without a mechanism that adds up the
// contributions.
func BenchmarkEach(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			e, q, _ := benchSetup(b, CPU{}, c.build)
			run(b, benchBatch, func() error { return e.Each(q, nothing{}) })
		})
	}
}

// BenchmarkStep measures one step of stochastic variational inference: the draw, the clipped sum
// over 195 rows, and Adam. The step neither samples a batch nor adds noise.
func BenchmarkStep(b *testing.B) {
	e, q, g := benchSetup(b, CPU{}, benchmarks[0].build)
	o := options(len(g), 1, false)
	o.Optimiser, o.Schedule, o.Clip, o.Rate = NewAdam(2*len(g)), LinearDecay{.001, .001}, 2, 195./benchRows
	r := newRun(b, q.Draws[0], slices.Repeat([]float64{.1}, len(g)), o)
	draw, batch := normals(1), q.Batch[:195]
	run(b, len(batch), func() error {
		_, err := e.Sum(g, r.Next(draw, batch))
		r.Update(g)
		return err
	})
}

// BenchmarkRows measures logistic regression over all rows of growing tables.
func BenchmarkRows(b *testing.B) {
	m, err := benchRegression(14).Build(programs.Logistic)
	if err != nil {
		b.Fatal(err)
	}
	for _, rows := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			rng := rand.New(rand.NewSource(1))
			e := compile(b, CPU{}, m, randomTable(b, m, rng, rows, 1))
			q := &Query{Draws: [][]float64{randomPoint(m, rng, .3)}, Clip: 2}
			g := make([]float64, m.Dim())
			run(b, rows, func() error { _, err := e.Sum(g, q); return err })
		})
	}
}

type nothing struct{}

func (nothing) AddRecord([]int32, []float64) error { return nil }

func run(b *testing.B, records int, f func() error) {
	b.ReportAllocs()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
}
