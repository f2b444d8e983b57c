package dpmech_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// Adding vectors together must give the same sum as adding them one by one. Some vectors have norms
// that are equal to the bound or differ from it only by rounding. Others are so long that the
// squared norm overflows, or are not finite.
func TestVectorsTogether(t *testing.T) {
	for _, dim := range []int{1, 3, 14, 20, 300} {
		all := gates(t, dim)
		rapid.Check(t, func(r *rapid.T) {
			m := rapid.SampledFrom(all).Draw(r, "gate")
			n := rapid.IntRange(0, 150).Draw(r, "vectors")
			v := make([]float64, 0, n*dim)
			for range n {
				v = append(v, randomVector(dim, m.Clip()*math.Exp(rapid.Float64Range(-3, 3).Draw(r, "log size")))...)
			}
			if l := rapid.IntRange(0, 2*n).Draw(r, "odd one"); l < n {
				odd := v[l*dim:][:dim]
				clear(odd)
				odd[dim-1] = m.Clip() * rapid.SampledFrom([]float64{
					0, 1, -1, 1 - 0x1p-40, 1 + 0x1p-52, 1e200, math.Inf(1), math.NaN(),
				}).Draw(r, "its element")
			}
			if l := rapid.IntRange(0, 2*n).Draw(r, "one beyond the bound by less than rounding"); l < n && dim > 1 {
				odd := v[l*dim:][:dim]
				clear(odd)
				odd[0] = m.Lattice().Float(int64(m.Clip() / m.Lattice().Step()))
				odd[1] = m.Lattice().Step()
			}
			together := m.NewAccumulator()
			check(r, together.AddVectors(v))
			want := accumulated(r, m, slices.Collect(slices.Chunk(v, dim))...)
			if got, err := released(m, together); err != nil || !slices.Equal(got, want) {
				r.Fatalf("together vectors add %v (%v), one by one %v", got, err, want)
			}
		})
	}
}

func TestVectorsRefused(t *testing.T) {
	m := newSum(t, ordinary)
	a := m.NewAccumulator()
	if err := a.AddVectors(make([]float64, m.Dim()+1)); err == nil {
		t.Error("no error for a vector and a part of one")
	}
	if err := a.Add(make([]float64, m.Dim())); err != nil {
		t.Errorf("a vector after it: %v", err)
	}
	if _, err := released(m, a); err == nil {
		t.Error("a release of a vector and a part of one")
	}
	for what, query := range map[string]func(*dpmech.Accumulator) error{
		"more vectors than records": func(a *dpmech.Accumulator) error { return a.AddVectors(make([]float64, 9)) },
		"vectors together do not count": func(a *dpmech.Accumulator) error {
			return errors.Join(a.AddVectors(make([]float64, 6)), a.Add(make([]float64, 3)))
		},
	} {
		if err := ofTwo(query); err == nil || !strings.Contains(err.Error(), "more than 2 vectors") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// ofTwo takes a step on a batch of two records. query adds their vectors, which have three
// elements. ofTwo returns the error of the step.
func ofTwo(query func(*dpmech.Accumulator) error) error {
	s, err := dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: dpmech.FullBatch{}, Records: 2, Steps: 1, Dim: 3, Clip: 1, NoiseMultiplier: 1, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		return err
	}
	return s.Begin().Next(make([]int64, 3), seeded.Streams(1, "of two"), func(_ []uint32, sum *dpmech.Accumulator) error { return query(sum) })
}

func TestVectorsAllocateNothing(t *testing.T) {
	m := newSum(t, ordinary)
	a, v := m.NewAccumulator(), make([]float64, 10*m.Dim())
	v[0], v[m.Dim()] = math.NaN(), 1e200
	if n := testing.AllocsPerRun(100, func() {
		a.Reset()
		check(t, a.AddVectors(v))
	}); n != 0 {
		t.Errorf("vectors allocate %g times", n)
	}
}
