package dpmech

import (
	"math/big"
	"math/bits"
)

// A discreteZiggurat samples N_Z(0, σ²) on the integers up to a bound by rejection from layers of
// equal area (Buchmann, Cabarcas, Göpfert, Hülsing, Weiden, "Discrete Ziggurat", 2013). The heights
// of the layers need not be exact in floating point.
//
// Layer i is the set of points (x, y), where x is one of the widthᵢ = 2Xᵢ−1 integers with |x| < Xᵢ
// and y is a real number in [yᵢ, yᵢ₊₁). The heights are y₀ = 0 and yᵢ₊₁ = yᵢ + c/widthᵢ, so all
// layers have the same area c. A draw selects a layer, and an x and a y in the layer, uniformly.
// The draw is repeated unless y < f(x) = exp(−x²/2σ²). If the layers cover the region under the
// curve, the distribution of x is exactly N_Z(0, σ²) on the integers of the lowest layer. They
// cover it if f(Xᵢ) ≤ yᵢ for every i above 0, and if the last yᵢ is at least 1.
// [newDiscreteZiggurat] checks these conditions for every table with lower and upper bounds on f.
// It also checks f(x) ≥ yᵢ₊₁ for every |x| that a layer accepts without drawing y. Floating point
// is used only to propose the widths and c.
//
// The sampler draws y only if the result depends on y. It draws one word of y first. It draws more
// words if the bounds on f do not decide the comparison.
type discreteZiggurat struct {
	curve  *curve
	area   uint64 // area c of a layer times 2^areaBits, without rounding
	layers [zigguratLayers]zigguratLayer
}

const (
	zigguratLayers = 256
	areaBits       = 32 // number of fractional bits of area; c < 2^20
)

// A zigguratLayer is one layer of a discreteZiggurat. Heights are in units of 2^-unitBits.
type zigguratLayer struct {
	width uint64 // number of integers in the layer, below 2^48
	// If (p − from) mod 2^64 < span, the point at position p of the layer, counted from 0, is under
	// the curve at every height in the layer. No height is then drawn.
	from, span uint64
	foot       uint64 // lower bound on yᵢ, the height at which layer i begins; at most i units too low
	rise       uint64 // height yᵢ₊₁ − yᵢ of the layer, rounded down
}

// fill makes samples from the random bits in words, writes them to dst, and returns how many it
// made. Most words need only the table. A few need more bits from src, and some are rejected.
func (z *discreteZiggurat) fill(dst []int64, words []uint64, src *Stream) (made int) {
	for _, w := range words {
		layer := &z.layers[w%zigguratLayers]
		place, rest := layer.place(w)
		if rest < layer.width*zigguratLayers || place-layer.from >= layer.span {
			x, kept := z.draw(w, src)
			if !kept {
				continue
			}
			dst[made] = x
			made++
			continue
		}
		dst[made] = int64(place) - int64(layer.width>>1)
		made++
	}
	return made
}

// atOnce makes a sample from one word w, if w and the table alone determine it. Otherwise enough is
// false.
func (z *discreteZiggurat) atOnce(w uint64) (x int64, enough bool) {
	layer := &z.layers[w%zigguratLayers]
	place, rest := layer.place(w)
	enough = rest >= layer.width*zigguratLayers && place-layer.from < layer.span
	return int64(place) - int64(layer.width>>1), enough
}

// place returns the position in the layer that the word w selects, counted from 0. It maps all but
// the lowest 8 bits of w to a number below width by Lemire's method. With t = ⌊w/2^8⌋ the number is
// ⌊t·width/2^56⌋. place also returns rest = 2^8·(t·width mod 2^56). If rest is below 2^8·width,
// [again] decides whether the draw is kept.
func (l *zigguratLayer) place(w uint64) (place, rest uint64) {
	return bits.Mul64(w&^(zigguratLayers-1), l.width)
}

// draw makes a sample from w, and from more bits of src if needed. If the selected point is not
// under the curve, kept is false.
func (z *discreteZiggurat) draw(w uint64, src *Stream) (x int64, kept bool) {
	i := int(w % zigguratLayers)
	layer := &z.layers[i]
	place, rest := layer.place(w)
	if rest < layer.width*zigguratLayers {
		place = again(place, rest, layer.width, src)
	}
	kept = place-layer.from < layer.span || z.keeps(i, place, src)
	return int64(place) - int64(layer.width>>1), kept
}

// again returns a uniform position in a layer of width positions. [zigguratLayer.place] maps 2^56
// draws to these positions, so some positions result from one draw more than others. If the draw is
// such a surplus draw, again draws another position. Otherwise it returns place.
func again(place, rest, width uint64, src *Stream) uint64 {
	if rest/zigguratLayers >= 1<<56%width {
		return place
	}
	return src.Uint64n(width)
}

// A wordSource returns random words: a [Stream], or a list of words in tests.
type wordSource interface{ Uint64() uint64 }

// keeps decides whether the point at the given position of layer i is kept. It draws the point's
// height y and reports whether y is below f(x).
func (z *discreteZiggurat) keeps(i int, place uint64, src wordSource) bool {
	layer := &z.layers[i]
	x := place - layer.width>>1
	if int64(x) < 0 {
		x = -x
	}
	low, high := z.curve.at(x)
	// The height of the point is y = yᵢ + v·rise, where yᵢ is the height at which layer i begins,
	// and v is in [word, word+1)/2^64. The computed height foot+part is at most y. The difference
	// is at most i units because foot is rounded, and at most 3 more units because word, rise and
	// the product are rounded.
	word := src.Uint64()
	part, _ := bits.Mul64(word, layer.rise)
	switch y := layer.foot + part; {
	case y >= high:
		return false
	case y+uint64(i)+3 <= low:
		return true
	}
	return z.decide(i, x, word, src)
}

// decide reports whether the point of layer i at x is under the curve f. The height of the point
// follows from a random number v in [0, 1). word holds the first 64 bits of v, which did not
// suffice for the decision. decide draws as many more bits of v as it needs.
func (z *discreteZiggurat) decide(i int, x, word uint64, src wordSource) bool {
	v := new(big.Int).SetUint64(word)
	for precision := uint(128); ; precision += 64 {
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(src.Uint64()))
		area := new(big.Int).SetUint64(z.area)
		area.Lsh(area, precision-areaBits)
		// In units of 2^-precision, the height of the point is y = Σ area/widthⱼ + v·area/widthᵢ,
		// where the sum is over the layers below layer i. Each term is a lower bound with an error
		// below one. The error of the last term is below two, since v has more bits.
		y, term, width := new(big.Int), new(big.Int), new(big.Int)
		for _, layer := range z.layers[:i] {
			y.Add(y, term.Quo(area, width.SetUint64(layer.width)))
		}
		term.Mul(area, v).Rsh(term, precision)
		y.Add(y, term.Quo(term, width.SetUint64(z.layers[i].width)))
		low, high := z.curve.within(x, precision)
		if y.Cmp(high) >= 0 {
			return false
		}
		if y.Add(y, term.SetInt64(int64(i)+3)).Cmp(low) <= 0 {
			return true
		}
	}
}
