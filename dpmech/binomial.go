package dpmech

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"slices"
	"sync"
)

// A binomial samples Binomial(n, q), the number of successes in n independent trials with
// probability q. The float64 q is taken as exact. The distribution of a sample is within
// statistical distance 2^-200 of the exact distribution, as the following construction shows.
//
// Let w_k be weights that are proportional to the probabilities of the outcomes k. They are
// computed in 320-bit floats by the recurrence
//
//	w_{k+1} = w_k·(n−k)/(k+1)·q/(1−q)
//
// which starts with w = 1 near the mode and goes in both directions. It has fewer than 2^21 steps:
// the weights fall below 2^-288 within 21 standard deviations, and a standard deviation is at most
// √(2^31)/2. A step has at most five roundings. Every weight, and every sum of weights, therefore
// has a relative error below 2^24·2^-320.
//
// Weights below 2^-288 are left out. There are fewer than 2^31 of them on either side, and they
// decrease away from the mode, so their mass is at most 2^-256. The sums of the weights up to each
// outcome are scaled to a total of 2^256, and truncated. The truncation adds an error of 2^-256 for
// every boundary between two outcomes, or 2^-234 in all. A draw compares a uniform 256-bit integer
// with the sums exactly, and reads only as many of its bits as the comparison needs.
type binomial struct {
	first int // value of the outcome with index 0
	// top has the probability of each outcome or a smaller one, as a multiple of 2^-256. It keeps
	// only the highest of the four 64-bit words.
	top   []uint64
	rest  [][3]uint64 // the three lower words of each entry, highest first
	guide []uint32    // where in top to begin the search for a draw; the highest bits of the draw are the index
	shift uint        // 64 minus the number of bits of an index into guide
}

const (
	binomialPrecision = 320
	binomialLeast     = -288 // log₂ of the smallest weight in a table
)

// A trial is the parameters of a binomial distribution.
type trial struct {
	n int
	q float64
}

// binomials caches small tables. Clients with the same number of records then share a table, and so
// do all runs of a mechanism. A table never changes.
var binomials struct {
	sync.Mutex
	of map[trial]*binomial
}

// mostShared limits the size of a cached table. If a table has more outcomes, samplers do not share
// it. Each outcome takes 32 bytes.
const mostShared = 1 << 12

// binomialOf returns the sampler of Binomial(n, q), for 0 ≤ n ≤ maxRecords and 0 ≤ q ≤ 1.
func binomialOf(n int, q float64) *binomial {
	key := trial{n, q}
	binomials.Lock()
	b := binomials.of[key]
	binomials.Unlock()
	if b != nil {
		return b
	}
	if b = newBinomial(n, q); len(b.top) <= mostShared {
		binomials.Lock()
		defer binomials.Unlock()
		if len(binomials.of) >= keptTables || binomials.of == nil {
			binomials.of = make(map[trial]*binomial, keptTables)
		}
		binomials.of[key] = b
	}
	return b
}

func newBinomial(n int, q float64) *binomial {
	switch {
	case n == 0 || q == 0:
		return &binomial{}
	case q == 1:
		return &binomial{first: n}
	}
	first, weights := binomialWeights(n, q)
	b := &binomial{first: first}
	b.accumulate(weights)
	b.index()
	return b
}

func newFloat() *big.Float { return new(big.Float).SetPrec(binomialPrecision) }

// binomialWeights returns numbers in proportion to the probabilities of the outcomes first,
// first+1, ...
func binomialWeights(n int, q float64) (first int, weights []*big.Float) {
	success := newFloat().SetFloat64(q)
	failure := newFloat().Sub(newFloat().SetInt64(1), success)
	odds := newFloat().Quo(success, failure)
	against := newFloat().Quo(failure, success)

	start := min(n, int(float64(n+1)*q))
	one := newFloat().SetInt64(1)
	var below []*big.Float
	for k, w := start, one; k > 0 && w.MantExp(nil) > binomialLeast; k-- {
		w = binomialStep(w, k, n-k+1, against)
		below = append(below, w)
	}
	slices.Reverse(below)
	weights = append(below, one)
	for k, w := start, one; k < n && w.MantExp(nil) > binomialLeast; k++ {
		w = binomialStep(w, n-k, k+1, odds)
		weights = append(weights, w)
	}
	return start - len(below), weights
}

// binomialStep returns w·a/b·ratio, rounded to the precision of the weights.
func binomialStep(w *big.Float, a, b int, ratio *big.Float) *big.Float {
	next := newFloat().Mul(w, ratio)
	next.Mul(next, newFloat().SetInt64(int64(a)))
	return next.Quo(next, newFloat().SetInt64(int64(b)))
}

// accumulate computes the distribution function from the weights.
func (b *binomial) accumulate(weights []*big.Float) {
	total := newFloat()
	for _, w := range weights {
		total.Add(total, w)
	}
	scale := newFloat().Quo(newFloat().SetMantExp(newFloat().SetInt64(1), 256), total)
	b.top = make([]uint64, len(weights))
	b.rest = make([][3]uint64, len(weights))
	sum, scaled, whole := newFloat(), newFloat(), new(big.Int)
	var word [32]byte
	for i, w := range weights {
		sum.Add(sum, w)
		scaled.Mul(sum, scale).Int(whole)
		if i == len(weights)-1 || whole.BitLen() > 256 {
			whole.Lsh(big.NewInt(1), 256).Sub(whole, big.NewInt(1))
		}
		whole.FillBytes(word[:])
		b.top[i] = binary.BigEndian.Uint64(word[0:])
		for j := range b.rest[i] {
			b.rest[i][j] = binary.BigEndian.Uint64(word[8+8*j:])
		}
	}
}

// index fills b.guide, which makes the search for the outcome of a draw shorter. The highest bits
// of the draw are an index into guide, and the element there tells where in top to begin.
func (b *binomial) index() {
	width := uint(bits.Len(uint(len(b.top)))) + 1
	b.shift = 64 - width
	b.guide = make([]uint32, 1<<width)
	entry := 0
	for i := range b.guide {
		for b.top[entry] < uint64(i)<<b.shift {
			entry++
		}
		b.guide[i] = uint32(entry)
	}
}

// most returns the largest outcome.
func (b *binomial) most() int { return b.first + max(len(b.top)-1, 0) }

// sample draws from the distribution with bits from src. How long it takes depends on the value
// that is drawn.
func (b *binomial) sample(src wordSource) int {
	if len(b.top) == 0 {
		return b.first
	}
	u := src.Uint64()
	entry := b.find(u)
	if b.top[entry] == u {
		entry = b.refine(entry, [3]uint64{src.Uint64(), src.Uint64(), src.Uint64()})
	}
	return b.first + entry
}

// find returns the index of the first element of top that is at least u, the highest word of a
// draw. If the element is greater than u, this is the index of the outcome. Otherwise refine
// decides.
func (b *binomial) find(u uint64) int {
	entry := int(b.guide[u>>b.shift])
	for b.top[entry] < u { // the loop ends, because the last entry is 2^64 − 1
		entry++
	}
	return entry
}

// refine finds the outcome of a draw whose highest word is equal to top[entry], and returns its
// index. The outcome is the first one whose distribution function is above the draw, so the lower
// words decide. u has these three words, highest first.
func (b *binomial) refine(entry int, u [3]uint64) int {
	top := b.top[entry]
	for entry < len(b.top)-1 && b.top[entry] == top && slices.Compare(u[:], b.rest[entry][:]) >= 0 {
		entry++
	}
	return entry
}
