package dpmech_test

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// BenchmarkAdd is one record: within the bound, clipped, and through the closure
// of a query.
func BenchmarkAdd(b *testing.B) {
	for _, dim := range []int{14, 108, 1000} {
		cfg := ordinary
		cfg.Dim, cfg.Terms = dim, 1<<31
		m := newSum(b, cfg)
		for _, size := range []struct {
			name  string
			scale float64
		}{{"short", .1}, {"clipped", 10}} {
			v := randomVector(dim, m.Clip()*size.scale)
			b.Run(fmt.Sprintf("%d/%s", dim, size.name), func(b *testing.B) {
				a := m.NewAccumulator()
				b.ReportAllocs()
				for b.Loop() {
					if err := a.Add(v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		v := randomVector(dim, m.Clip()*10)
		b.Run(fmt.Sprintf("%d/query", dim), func(b *testing.B) {
			dst, sum := make([]int64, dim), make([]int64, dim)
			err := m.Release(dst, sum, seeded.Stream(1, "bench"), func(add func([]float64) error) error {
				for b.Loop() {
					if err := add(v); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// randomVector returns a vector of about the given norm.
func randomVector(dim int, norm float64) []float64 {
	g, err := dpmech.NewDiscreteGaussian(1 << 20)
	if err != nil {
		panic(err)
	}
	src, v := seeded.Stream(uint64(dim), "vector"), make([]float64, dim)
	var ss float64
	for i := range v {
		v[i] = float64(g.Sample(src))
		ss += v[i] * v[i]
	}
	for i := range v {
		v[i] *= norm / math.Sqrt(ss)
	}
	return v
}
