package gpu

import (
	"fmt"
	"math/rand"
	"testing"

	"fedpvi/pvi/model"
)

// Figures for: value, gradient, norm and clipped sum, one core, over a random batch
// of 2000 of 39,073 rows (the size of Adult), in ns per record.

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

func benchRegression(d int) model.Regression {
	return model.Regression{Outcome: "y", Features: features(d), Coefficients: unit}
}

func groupNames(n int) []string { return features(n) }

// varyingIntercept is the radon model: 85 groups, one feature, 89 coordinates.
func varyingIntercept() (*model.Model, error) {
	r := benchRegression(1)
	r.Intercept = &unit
	return model.Multilevel(r, model.Groups{Column: "g", Names: groupNames(85), Scale: 1}, model.GaussianFamily, 1, 0)
}

func twoNormals() (*model.Model, error) {
	return model.Mixture(model.MixtureOptions{
		Components: 2, Variables: []string{"x"}, Bound: 50, Concentration: 1, Means: unit, Shape: 2, Scale: 1,
	})
}

var benchmarks = []struct {
	name  string
	build func() (*model.Model, error)
}{
	{"logistic-14", func() (*model.Model, error) { return model.Logistic(benchRegression(14)) }},
	{"logistic-108", func() (*model.Model, error) { return model.Logistic(benchRegression(108)) }},
	{"intercept-85", varyingIntercept},
	{"mixture-2", twoNormals},
	{"linear-14", func() (*model.Model, error) { return model.NormalRegression(benchRegression(14), 1) }},
	{"poisson-14", func() (*model.Model, error) { return model.Poisson(benchRegression(14), 1000) }},
	{"negbin-14", func() (*model.Model, error) { return model.NegativeBinomial(benchRegression(14), 1000, 2, .5) }},
	{"robust-14", func() (*model.Model, error) { return model.Robust(benchRegression(14), 4, 1) }},
	{"probit-14", func() (*model.Model, error) { return model.Probit(benchRegression(14)) }},
	{"softmax-14x3", func() (*model.Model, error) { return model.Softmax(benchRegression(14), []string{"a", "b", "c"}) }},
	{"network-14-10", func() (*model.Model, error) {
		return model.Network(benchRegression(14), 10, model.LogisticFamily, 0, 0)
	}},
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

// BenchmarkGeneric is the same without fused kernels.
func BenchmarkGeneric(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			e, q, g := benchSetup(b, CPU{Generic: true}, c.build)
			run(b, benchBatch, func() error { _, err := e.Sum(g, q); return err })
		})
	}
}

// BenchmarkEach is the private path up to the sink.
func BenchmarkEach(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			e, q, _ := benchSetup(b, CPU{}, c.build)
			run(b, benchBatch, func() error { return e.Each(q, nothing{}) })
		})
	}
}

// BenchmarkRows is logistic regression over all rows, of which there are more and
// more.
func BenchmarkRows(b *testing.B) {
	m, err := model.Logistic(benchRegression(14))
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
