package ep

import (
	"slices"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

func uniforms(src *dpmech.Stream) func() float64 {
	return func() float64 { return float64(src.Uint64()>>11) * 0x1p-53 }
}

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

func timeSteps(b *testing.B, step func() error) {
	times := make([]float64, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range times {
		start := time.Now()
		if err := step(); err != nil {
			b.Fatal(err)
		}
		times[i] = float64(time.Since(start).Nanoseconds())
	}
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(times[len(times)/10], "ns/step-decile")
}

func familyOf(t testing.TB, name string, d int) gaussian.Family {
	t.Helper()
	family, err := gaussian.New(name, d)
	if err != nil {
		t.Fatal(err)
	}
	return family
}

// sepFactor returns the factor that SEP finds if the prior is standard normal.
func sepFactor(t testing.TB, tilted Tilted, o SEPOptions, passes int) []float64 {
	t.Helper()
	factor := make([]float64, tilted.Family().Size())
	if err := SEP(factor, unit(tilted.Family()), tilted, o, passes); err != nil {
		t.Fatal(err)
	}
	return factor
}

// posterior returns the product of a prior and a factor.
func posterior(t testing.TB, family gaussian.Family, prior, factor []float64) *solver.Approximation {
	t.Helper()
	natural := slices.Clone(factor)
	for i, x := range prior {
		natural[i] += x
	}
	q, err := solver.NewApproximation(family, natural)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// siteUnder returns the site of the first record under the cavity q.
func siteUnder(q *solver.Approximation, tilted Tilted) []float64 {
	tilted.Set(q)
	site := make([]float64, tilted.Size())
	tilted.Site(site, 0)
	return site
}
