package audit

import (
	"context"
	"math"
	"math/rand/v2"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/special"
)

// steps is a mechanism that releases, in each step, a noisy sum of the vectors of a random batch.
type steps interface {
	Event() accountant.Event

	// play computes all steps and writes each release to released. vector writes the vector of a
	// record to v.
	play(released [][]float64, streams *dpmech.Streams, vector func(v []float64, record uint32)) error
}

// integers adds up vectors in integer arithmetic.
type integers struct{ *dpmech.SampledSum }

func newIntegers(d descent, records int) (steps, error) {
	m, err := dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: d.sampling, Records: records, Steps: d.steps,
		Dim: descentDim, Clip: descentClip, NoiseMultiplier: d.noise, Adjacency: d.adjacency,
	})
	return integers{m}, err
}

func (m integers) play(released [][]float64, streams *dpmech.Streams, vector func(v []float64, record uint32)) error {
	run := m.Begin()
	dst, v := make([]int64, descentDim), make([]float64, descentDim)
	for _, seen := range released {
		err := run.Next(dst, streams, func(batch []uint32, sum *dpmech.Accumulator) error {
			for _, record := range batch {
				vector(v, record)
				if err := sum.Add(v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, n := range dst {
			seen[i] = m.Lattice().Float(n)
		}
	}
	return nil
}

// products tests the mechanism that adds up the gradients of neural networks by products of float
// matrices. It turns a vector into the gradients of two layers with one input each, which is 1. The
// two halves of the vector become the outputs. The last records of a large batch are added one by
// one.
type products struct{ *dpmech.ProductSum }

func newProducts(d descent, records int) (steps, error) {
	layer := dpmech.ProductLayer{Inputs: 1, Outputs: descentDim / 2}
	m, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: d.sampling, Records: records, Steps: d.steps, Layers: []dpmech.ProductLayer{layer, layer}, Together: 2,
		Clip: descentClip, NoiseMultiplier: d.noise, Adjacency: d.adjacency,
	})
	return products{m}, err
}

func (m products) play(released [][]float64, streams *dpmech.Streams, vector func(v []float64, record uint32)) error {
	run, err := m.Begin(streams)
	if err != nil {
		return err
	}
	v, parts := make([]float64, descentDim), run.Parts()
	for _, seen := range released {
		batch, err := run.Next()
		if err != nil {
			return err
		}
		for place, record := range batch {
			vector(v, record)
			if err := run.Put(place, pairs(v)); err != nil {
				return err
			}
		}
		for i, p := range parts {
			dst := make([]float32, run.Size(i))
			if err := run.Release(i, dst); err != nil {
				return err
			}
			for j := range descentDim / 2 {
				seen[p.Layer*descentDim/2+j] = float64(dst[j])
			}
		}
	}
	return nil
}

// pairs returns v as the gradients of two layers. Each layer gets one half of v.
func pairs(v []float64) []dpmech.Pair {
	var all []dpmech.Pair
	for half := range 2 {
		p := dpmech.Pair{Inputs: []float32{1}}
		for _, x := range v[half*descentDim/2:][:descentDim/2] {
			p.Outputs = append(p.Outputs, float32(x))
		}
		all = append(all, p)
	}
	return all
}

// productNorms tests sums that are computed by matrix products (see [products]). Two releases have
// the same noise, but only one of them includes a random vector. They must not differ by more than
// the accounted sensitivity.
func productNorms(_ context.Context, t task) (Check, error) {
	const vectors = 500
	d := descent{sampling: dpmech.FullBatch{}, records: 1, steps: 1, noise: 0x1p-6, adjacency: accountant.AddRemove}
	all, err := newProducts(d, d.records)
	if err != nil {
		return Check{}, err
	}
	m := all.(products)
	// The noise is far smaller than the clip, so a float32 sum of a vector and the noise loses at
	// most a relative 2^−20.
	allowed := m.Sensitivity() * (1 + 0x1p-20)
	r := rand.New(seeded.Stream(t.seed, "norms of products"))
	var largest float64
	for n := range vectors {
		long := hostileVector(r)[:descentDim]
		var seen [2][][]float64
		for world := range seen {
			seen[world] = [][]float64{make([]float64, descentDim)}
			err := m.play(seen[world], seeded.Streams(t.seed, "norms of products"), func(v []float64, _ uint32) {
				clear(v)
				if world == 1 {
					copy(v, long)
				}
			})
			if err != nil {
				return Check{}, err
			}
		}
		var squared float64
		for i, x := range seen[1][0] {
			squared += (x - seen[0][0][i]) * (x - seen[0][0][i])
		}
		norm := math.Sqrt(squared)
		if !(norm <= allowed) {
			return certain(false, "vector %d moves the sum by %.4g times the accounted sensitivity", n+1, norm/m.Sensitivity()), nil
		}
		if !special.Finite(long) && norm != 0 {
			return certain(false, "vector %d is not finite and does not add zero", n+1), nil
		}
		largest = max(largest, norm)
	}
	return certain(true, "no more than %.6f of the accounted norm in %d vectors", largest/m.Sensitivity(), vectors), nil
}
