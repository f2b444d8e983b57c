package dpmech

import "math/big"

// This file gives the external tests access to internals.

var GaussianMass = gaussianMass

// A Binomial gives tests access to the sampler of batch sizes.
type Binomial struct{ *binomial }

func NewBinomial(n int, q float64) Binomial { return Binomial{newBinomial(n, q)} }

func (b Binomial) Draw(src *Stream) int { return b.sample(src) }

// Table returns the smallest outcome. It also returns the distribution function from this outcome
// on, multiplied by 2^256. The last element is 2^256 − 1 instead of 2^256.
func (b Binomial) Table() (first int, function []*big.Int) {
	for i := range b.top {
		value := new(big.Int).SetUint64(b.top[i])
		for _, word := range b.rest[i] {
			value.Lsh(value, 64).Add(value, new(big.Int).SetUint64(word))
		}
		function = append(function, value)
	}
	return b.first, function
}

// Outcome returns the outcome of a draw with the given 256 bits.
func (b Binomial) Outcome(u [4]uint64) int { return b.sample(&given{u[:]}) }

type given struct{ words []uint64 }

func (g *given) Uint64() uint64 {
	w := g.words[0]
	g.words = g.words[1:]
	return w
}

// FeistelBatch returns the batch of the given size that the Feistel permutation draws with the
// given key.
func FeistelBatch(records, batch int, key []uint64) []uint32 {
	f := newFeistel(records)
	f.schedule(key)
	dst := make([]uint32, batch)
	f.fill(dst)
	return dst
}

// FeistelKey returns how many 64-bit words the key of the Feistel permutation has if there are this
// many records.
func FeistelKey(records int) int { return 3 * len(newFeistel(records).rounds) }

// Uniform returns a uniform number in (0, 1].
func Uniform(src *Stream) float64 { return uniform(src) }

// ZigguratEnd is for a test that the layers of the normal ziggurat have equal areas and end at the
// mode. height is where the highest layer begins. excess is the area of layer 1 minus the area that
// remains for the highest layer.
func ZigguratEnd() (height, excess float64) {
	t := ziggurat
	last := normalLayers - 1
	return t.height[last], t.edge[1]*(t.height[2]-t.height[1]) - t.edge[last]*(1-t.height[last])
}

// Indices returns a function that draws distinct indices below n from the given words. The function
// draws at most size indices. If the words are not enough, it draws fewer.
func Indices(n int) func(size int, words ...uint64) []uint32 {
	s, err := newSelector(n, Exact)
	if err != nil {
		panic(err)
	}
	s.epoch = 1
	return func(size int, words ...uint64) []uint32 {
		dst := make([]uint32, size)
		dst = dst[:s.markSome(dst, words)]
		for _, i := range dst {
			s.marks[i] = 0
		}
		return dst
	}
}

// Sliced gives tests access to the sampler for a [ProductSum]'s noise.
type Sliced struct{ *slicedGaussian }

func NewSliced(sigma uint64) Sliced { return Sliced{newSliced(sigma)} }

// SlicePlaces is the number of integers in a slice of the Sliced sampler.
const SlicePlaces = 1 << placeBits
