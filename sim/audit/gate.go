package audit

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/special"
)

// gateDim is the number of elements of a test vector. It is even, so that one half of a vector can
// be zero.
const gateDim = 6

// gateClip is the clip of the sums in the tests of the gate.
const gateClip = 1.7

// clipSteps returns the clip of a sum in lattice steps.
func clipSteps(m *dpmech.Sum) float64 { return math.Floor(m.Clip() / m.Lattice().Step()) }

// norms tests that no vector adds more than the clip to a sum, and that a vector with an element
// that is not finite adds nothing.
func (f noisy) norms(_ context.Context, t task) (Check, error) {
	const vectors = 4000
	gate, err := f.sum(accountant.AddRemove)
	if err != nil {
		return Check{}, err
	}
	limit := big.NewFloat(clipSteps(gate))
	allowed, _ := limit.Mul(limit, limit).Int(nil)
	r := rand.New(seeded.Stream(t.seed, "norms"))
	src := seeded.Stream(t.seed, "norms, noise")
	dst, sum := make([]int64, gateDim), make([]int64, gateDim)
	largest := new(big.Int)
	for n := range vectors {
		v := hostileVector(r)
		err := gate.Release(dst, sum, src, func(add func([]float64) error) error { return add(v) })
		if err != nil {
			return Check{}, err
		}
		squared := new(big.Int)
		for _, x := range sum {
			squared.Add(squared, new(big.Int).Mul(big.NewInt(x), big.NewInt(x)))
		}
		if squared.Cmp(allowed) > 0 {
			ratio, _ := new(big.Rat).SetFrac(squared, allowed).Float64()
			return certain(false, "vector %d adds %.4g times the clip", n+1, math.Sqrt(ratio)), nil
		}
		if !special.Finite(v) && squared.Sign() != 0 {
			return certain(false, "vector %d is not finite and does not add zero", n+1), nil
		}
		if squared.Cmp(largest) > 0 {
			largest = squared
		}
	}
	ratio, _ := new(big.Rat).SetFrac(largest, allowed).Float64()
	return certain(true, "no more than %.6f of the clip in %d vectors", math.Sqrt(ratio), vectors), nil
}

// hostileVector returns a random vector with elements of any size that a float can have. In some,
// one half is zero, all elements are equal, or an element is not finite.
func hostileVector(r *rand.Rand) []float64 {
	v := make([]float64, gateDim)
	scale := math.Pow(10, 4*r.NormFloat64())
	if r.IntN(4) == 0 {
		scale = math.Pow(10, 300*(2*r.Float64()-1))
	}
	switch block := r.IntN(4); block {
	case 0, 1: // one half of the vector is zero
		for i := block * gateDim / 2; i < (block+1)*gateDim/2; i++ {
			v[i] = scale * r.NormFloat64()
		}
	case 2: // all elements are equal, so the two blocks are, too
		for i := range v {
			v[i] = scale
		}
	default:
		for i := range v {
			v[i] = scale * r.NormFloat64()
		}
	}
	if r.IntN(10) == 0 {
		v[r.IntN(gateDim)] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
	}
	return v
}

// oblivious tests that the noise of a release does not depend on the value that it hides, and that
// no two releases have the same noise.
func (f noisy) oblivious(_ context.Context, t task) (Check, error) {
	gate, err := f.sum(accountant.AddRemove)
	if err != nil {
		return Check{}, err
	}
	vectors := [][]float64{make([]float64, gateDim), {1, 0, 0, 0, 0, 0}, {1e6, -1e6, 1e6, 3, 3, 3}}
	var first []int64
	for k, v := range vectors {
		src := seeded.Stream(t.seed, "oblivious")
		dst, sum := make([]int64, gateDim), make([]int64, gateDim)
		err := gate.Release(dst, sum, src, func(add func([]float64) error) error { return add(v) })
		if err != nil {
			return Check{}, err
		}
		for i := range dst {
			dst[i] -= sum[i]
		}
		if first == nil {
			first = dst
		}
		if !slices.Equal(dst, first) {
			return certain(false, "vector %d has noise that the empty sum does not have", k+1), nil
		}
	}
	var noise dpmech.Noise
	gate.Draw(&noise, seeded.Stream(t.seed, "oblivious, one"))
	dst, sum := make([]int64, gateDim), make([]int64, gateDim)
	if err := gate.ReleaseOne(dst, sum, &noise, vectors[1]); err != nil {
		return Check{}, err
	}
	if err := gate.ReleaseOne(dst, sum, &noise, vectors[1]); err == nil {
		return certain(false, "noise that was used hides a second release"), nil
	}
	return certain(true, "the same for %d inputs, and refused a second time", len(vectors)), nil
}
