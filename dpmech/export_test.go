package dpmech

import "math/big"

// What tests of the package's own parts need to see.

// A Binomial is the sampler of batch sizes.
type Binomial struct{ *binomial }

func NewBinomial(n int, q float64) Binomial { return Binomial{newBinomial(n, q)} }

func (b Binomial) Draw(src *Stream) int { return b.sample(src) }

// Table returns the least outcome and the distribution function times 2^256, whose
// last element is 2^256 − 1.
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

// Outcome returns what a draw of 256 given bits yields.
func (b Binomial) Outcome(u [4]uint64) int {
	entry := b.find(u[0])
	if b.top[entry] == u[0] {
		entry = b.refine(entry, [3]uint64(u[1:]))
	}
	return b.first + entry
}

// FeistelBatch returns the batch of a key.
func FeistelBatch(records, batch int, key []uint64) []uint32 {
	f := newFeistel(records)
	f.schedule(key)
	dst := make([]uint32, batch)
	f.fill(dst)
	return dst
}

// FeistelKey returns the number of words of a key.
func FeistelKey(records int) int { return 3 * len(newFeistel(records).rounds) }

// Uniform returns a uniform number of (0, 1].
func Uniform(src *Stream) float64 { return uniform(src) }

// ZigguratEnd returns where the highest layer should end, and the area of a layer
// minus that of the highest.
func ZigguratEnd() (height, excess float64) {
	t := ziggurat
	last := normalLayers - 1
	return t.height[last], t.edge[1]*(t.height[2]-t.height[1]) - t.edge[last]*(1-t.height[last])
}
