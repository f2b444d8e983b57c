package ep

import (
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/dpmech"
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

func cholesky(covariance []float64, d int) []float64 {
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(d, covariance)) {
		panic("not positive definite")
	}
	var l mat.TriDense
	c.LTo(&l)
	root := make([]float64, 0, d*d)
	for i := range d {
		for j := range d {
			root = append(root, l.At(i, j))
		}
	}
	return root
}
