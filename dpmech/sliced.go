package dpmech

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"sort"
)

// A slicedGaussian samples N_Z(0, σ²) exactly, for σ around 2^20. It is three times as fast as a
// [DiscreteGaussian], because most samples take 32 bits and one access to a table.
//
// The region under f(x) = exp(−x²/2σ²) is cut into slices of 2^placeBits integers. Each slice has a
// rectangle, whose height is a lower bound on f in the slice. Above the rectangle the slice has a
// wedge, which reaches up to an upper bound on f. Outside the slices, up to the sampler's bound,
// there are wide wedges. All areas are multiples of one unit, and their total is at most 2^32 units
// (times 2^-placeBits). A draw of 32 bits selects a point of the rectangles uniformly, or the set
// of wedges. In the second case the sampler draws a point of a wedge with as many bits as needed.
// If this point is not under the curve, the sampler starts again. Points are uniform under the
// curve if all rectangles are under the curve and all wedges reach above the curve. When a table is
// made, both conditions are proved with lower and upper bounds on f.
type slicedGaussian struct {
	curve  *curve
	bound  int64
	origin int32 // index of the slice that begins at x = 0
	// table has one element for each column of Walker's alias table (see alias). The first slots of
	// column i belong to slice i, and the others belong to another slice. The low columnBits bits
	// of table[i] are the index of the other slice. The higher bits count the slots that belong to
	// slice i.
	table [slicedColumns]uint32

	all    uint64 // total area of the wedges
	wedges []wedge
	ends   []uint64 // ends[i] is the total area of wedges 0 to i

	// To draw a point of the wedges, the sampler draws a number n below all. The point is in the
	// first wedge i for which ends[i] exceeds n. The search for this wedge can begin at the wedge
	// guide[n>>shift].
	shift uint
	guide [slicedColumns]uint16
}

const (
	columnBits    = 12 // number of bits, out of 32, that select a column
	thresholdBits = 7  // number of bits that select a slot of a column, and so one of the column's two slices
	placeBits     = 32 - columnBits - thresholdBits
	slicedColumns = 1 << columnBits   // number of columns; the table of 16 KB fits in a cache
	notInTable    = slicedColumns - 1 // entry of the table, in place of a slice number, for draws that select a wedge
	heightBits    = 40                // heights are multiples of 2^-heightBits

	// slicedReach is the largest |x| that the slices cover, in units of σ. Only a fraction of
	// 2·10^-9 of the samples have a larger |x|.
	slicedReach = 6

	leastSliced, mostSliced = 1 << 20, 5 << 19 // smallest and largest σ, with 1,538 and 3,842 slices
)

// A wedge is the set of points (first + i, y) with 0 ≤ i < length and foot ≤ y < foot + rise. The
// struct is small, because thousands of wedges must fit into a cache.
type wedge struct {
	first      int64
	length     uint64
	foot, rise uint64 // heights in units of 2^-heightBits
}

func (w *wedge) area() uint64 { return w.length * w.rise }

// fillPlain makes two samples from every word, the first from the lower half. If the table does not
// determine a sample, fillPlain sets the bit of this sample in missing. Each byte of missing has
// the bits of eight samples.
func (g *slicedGaussian) fillPlain(dst []int64, words []uint64, missing []uint8) {
	clear(missing)
	for i := range dst {
		u := uint32(words[i/2] >> (i % 2 * 32))
		slice := u >> (placeBits + thresholdBits)
		if e := g.table[slice]; u>>placeBits&(1<<thresholdBits-1) >= e>>columnBits {
			slice = e & (slicedColumns - 1)
		}
		if slice == notInTable {
			missing[i/8] |= 1 << (i % 8)
		}
		dst[i] = int64(int32(slice)-g.origin)<<placeBits + int64(u&(1<<placeBits-1))
	}
}

// slicedAtOnce is the number of samples that are made together.
const slicedAtOnce = 256

// Fill sets every element of dst to an independent sample.
func (g *slicedGaussian) Fill(dst []int64, src *Stream) {
	var (
		words   [slicedAtOnce / 2]uint64
		missing [slicedAtOnce / 8]uint8
	)
	for len(dst) >= 8 {
		eights := min(len(dst), slicedAtOnce) / 8
		src.Fill(words[:eights*4])
		g.fill(dst[:eights*8], words[:eights*4], missing[:eights])
		clear(missing[eights:])
		for i := 0; i < eights; i += 8 {
			g.replace(dst[8*i:], binary.LittleEndian.Uint64(missing[i:]), src)
		}
		dst = dst[eights*8:]
	}
	if len(dst) > 0 {
		var samples [8]int64
		src.Fill(words[:4])
		g.fill(samples[:], words[:4], missing[:1])
		g.replace(samples[:], uint64(missing[0])&(1<<len(dst)-1), src)
		copy(dst, samples[:])
	}
}

// replace makes the samples that the table did not determine. If bit i of missing is 1, replace
// makes dst[i].
func (g *slicedGaussian) replace(dst []int64, missing uint64, src *Stream) {
	for ; missing != 0; missing &= missing - 1 {
		dst[bits.TrailingZeros64(missing)] = g.rest(src)
	}
}

// rest makes a sample if the first 32 bits of its draw selected a wedge instead of a rectangle.
func (g *slicedGaussian) rest(src wordSource) int64 {
	for {
		if x, kept := g.wedge(src); kept {
			return x
		}
		// The point was rejected, so the draw starts again.
		var missing [1]uint8
		var sample [1]int64
		word := [1]uint64{src.Uint64()}
		if g.fillPlain(sample[:], word[:], missing[:]); missing[0] == 0 {
			return sample[0]
		}
	}
}

// wedge draws a uniform point of the wedges, and reports whether it is under the curve. x is the
// integer at which the point lies.
func (g *slicedGaussian) wedge(src wordSource) (x int64, kept bool) {
	place := below(g.all, src)
	w := int(g.guide[place>>g.shift])
	for w < len(g.ends) && place >= g.ends[w] {
		w++
	}
	if w == len(g.ends) {
		return 0, false // the areas of the wedges were rounded, so the point belongs to no wedge
	}
	v := &g.wedges[w]
	place -= g.ends[w] - v.area()
	column, height := place%(1<<placeBits), place>>placeBits
	if v.length != 1<<placeBits { // the wedge is outside the slices, which is rare
		column, height = place%v.length, place/v.length
	}
	x = v.first + int64(column)
	return x, g.under(x, v.foot+height, src)
}

// under draws the height y of a point at the integer x, and reports whether y is below f(x). y is
// uniform between height and height+1, in units of 2^-heightBits.
func (g *slicedGaussian) under(x int64, height uint64, src wordSource) bool {
	at := uint64(max(x, -x))
	word := src.Uint64()
	y := height<<(unitBits-heightBits) + word>>(64-(unitBits-heightBits))
	switch low, high := g.curve.at(at); {
	case y >= high:
		return false
	case y+1 <= low:
		return true
	}
	exact := new(big.Int).SetUint64(height)
	exact.Lsh(exact, 64).Add(exact, new(big.Int).SetUint64(word))
	for precision := uint(heightBits + 64); ; precision += 64 {
		low, high := g.curve.within(at, precision)
		if exact.Cmp(high) >= 0 {
			return false
		}
		if low.Cmp(exact) > 0 { // y is in [exact, exact + 1)
			return true
		}
		exact.Lsh(exact, 64).Add(exact, new(big.Int).SetUint64(src.Uint64()))
	}
}

// below returns a uniform number below n, by the method of [Stream.Uint64n].
func below(n uint64, src wordSource) uint64 {
	for {
		if hi, lo := bits.Mul64(src.Uint64(), n); lo >= n || lo >= -n%n {
			return hi
		}
	}
}

// newSliced returns the sampler for σ. It panics unless σ is from leastSliced to mostSliced.
func newSliced(sigma uint64) *slicedGaussian {
	if sigma < leastSliced || sigma > mostSliced {
		panic("dpmech: sigma is out of the range of a sliced Gaussian") // callers must choose a lattice for which σ is in range
	}
	g := &slicedGaussian{curve: newCurve(sigma, 1), bound: int64(sampleBound(sigma, 1))}
	const length = 1 << placeBits
	half := int64(slicedReach*sigma/length) + 1 // number of slices on either side of 0
	g.origin = int32(half)
	var total uint64 // total area of rectangles and wedges
	g.wedges = make([]wedge, 0, 2*half+64)
	for j := -half; j < half; j++ {
		near := max(j*length, -((j+1)*length - 1))
		top := g.above(uint64(near))
		g.wedges = append(g.wedges, wedge{first: j * length, length: length, rise: top})
		total += top * length
	}
	for _, sign := range []int64{1, -1} {
		near := half * length
		if sign < 0 {
			near++ // the integer −half·length already belongs to the lowest slice
		}
		for near <= g.bound {
			n := min(near, g.bound-near+1)
			w := wedge{first: min(sign*near, sign*(near+n-1)), length: uint64(n), rise: g.above(uint64(near))}
			g.wedges = append(g.wedges, w)
			total += w.area()
			near += n
		}
	}
	g.tabulate(half, (total-1)>>32+1)
	return g
}

// above returns an upper bound on f(x) in units of 2^-heightBits.
func (g *slicedGaussian) above(x uint64) uint64 {
	_, high := g.curve.at(x)
	return (high-1)>>(unitBits-heightBits) + 1
}

// tabulate makes the rectangle and the wedge of every slice. A rectangle is a stack of slots of
// height unit, with as many slots as fit under the curve. The wedge covers the area above the
// rectangle.
func (g *slicedGaussian) tabulate(half int64, unit uint64) {
	const length = 1 << placeBits
	var slots [slicedColumns]int
	left := slicedColumns << thresholdBits
	for i := range 2 * half {
		w := &g.wedges[i]
		far := max(-w.first, w.first+length-1)
		low, _ := g.curve.at(uint64(far))
		n := low >> (unitBits - heightBits) / unit
		slots[i] = int(n)
		left -= int(n)
		w.foot = n * unit
		w.rise -= w.foot
	}
	slots[notInTable] = left
	g.all = uint64(left) * unit * length
	var end uint64
	for i := range g.wedges {
		end += g.wedges[i].area()
		g.ends = append(g.ends, end)
	}
	for g.all>>g.shift >= uint64(len(g.guide)) {
		g.shift++
	}
	for i := range g.guide {
		g.guide[i] = uint16(sort.Search(len(g.wedges), func(w int) bool { return g.ends[w] > uint64(i)<<g.shift }))
	}
	g.alias(&slots)
}

// alias fills the table by the method of Walker ("An Efficient Method for Generating Discrete
// Random Variables with General Distributions", 1977), in integers. Every column of the table has
// 2^thresholdBits slots, which belong to at most two slices.
func (g *slicedGaussian) alias(slots *[slicedColumns]int) {
	var few, many []int
	for i, n := range slots {
		if n < 1<<thresholdBits {
			few = append(few, i)
		} else {
			many = append(many, i)
		}
	}
	for len(few) > 0 {
		i, other := few[len(few)-1], many[len(many)-1]
		few = few[:len(few)-1]
		g.table[i] = uint32(slots[i])<<columnBits | uint32(other)
		slots[other] -= 1<<thresholdBits - slots[i]
		if slots[other] < 1<<thresholdBits {
			many = many[:len(many)-1]
			few = append(few, other)
		}
	}
	for _, i := range many {
		g.table[i] = 1<<thresholdBits<<columnBits | uint32(i)
	}
}
