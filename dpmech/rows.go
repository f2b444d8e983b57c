package dpmech

import (
	"errors"
	"fmt"
	"math"
)

// rowsAtOnce is how many rows are clipped and added together. The elements that they add
// are at most clip ≤ 2^maxClipBits in absolute value, so that their sum is far below 2^51.
const rowsAtOnce = 64

// together returns how many rows of d elements are added together: no more than stay in
// a cache from one pass over them to the next.
func together(d int) int {
	const cached = 1 << 14 // elements, 128 KiB
	return max(1, min(rowsAtOnce, cached/d))
}

// AddRows adds a vector for each of rows: slopes[l]·x[rows[l]·d : (rows[l]+1)·d], d the
// length of a vector, each clipped and truncated, and zero if it is not finite. It is
// for models in which a record's gradient is a multiple of its covariates. What a row
// adds is a function of slope and row alone, and that of [Accumulator.Add] up to the
// rounding of products. It refuses rows that x does not have and more vectors than
// [Accumulator.Add] does; the release then fails, whatever follows.
func (a *Accumulator) AddRows(slopes []float64, rows []int32, x []float64) error {
	d := len(a.sum)
	switch {
	case len(slopes) != len(rows):
		return a.fail(fmt.Errorf("gaussian sum: %d slopes for %d rows", len(slopes), len(rows)))
	case len(rows) > a.most-a.terms:
		return a.fail(a.tooMany())
	case !within(rows, len(x)/d):
		return a.fail(errors.New("gaussian sum: a row that the table does not have"))
	}
	a.terms += len(rows)
	for len(rows) > 0 {
		n := min(len(rows), together(d))
		if g := &a.of.gate; !g.addRows(a.sum, slopes[:n], rows[:n], x) {
			a.addFormed(slopes[:n], rows[:n], x)
		}
		slopes, rows = slopes[n:], rows[n:]
	}
	return nil
}

// within reports whether all of rows are among the first n.
func within(rows []int32, n int) bool {
	for _, row := range rows {
		if uint(row) >= uint(n) { // or below 0
			return false
		}
	}
	return true
}

// addFormed is AddRows for rows of which one may have to be formed.
func (a *Accumulator) addFormed(slopes []float64, rows []int32, x []float64) {
	g, d := &a.of.gate, len(a.sum)
	for l := range rows {
		if g.addRows(a.sum, slopes[l:l+1], rows[l:l+1], x) {
			continue
		}
		for j, e := range x[int(rows[l])*d:][:d] {
			a.formed[j] = slopes[l] * e
		}
		g.add(a.sum, a.formed)
	}
}

// addRows adds the clipped and truncated slope·row for each of at most rowsAtOnce rows to
// sum, and reports whether it did: where the rounding of one of them is not proven to be
// harmless it leaves sum as it is, and so it does where a slope or a row is not finite.
func (g *gate) addRows(sum []int64, slopes []float64, rows []int32, x []float64) bool {
	if len(sum) > provenDim {
		return false
	}
	var space [rowsAtOnce]float64
	factors := space[:len(rows)]
	sumsOfSquares(factors, rows, x, len(sum))
	if !g.factors(factors, slopes) {
		return false
	}
	addTruncatedRows(sum, factors, rows, x)
	return true
}

// scaled returns the factor that turns a row into steps of the clipped slope·row, ss the
// row's squared norm, and whether it is proven to be good.
//
// A product is that of an element and one number that scale, slope and factor make
// together. With ss, from 2^-900 to 2^1000, computed as in add, slope·row has a norm of
// at most n·(1+2^-41.8)·(1+2^-51) for n = |slope|·√ss as computed. If n is within
// g.length = clip·step·(1−2^-40), slope/step is exact, or so small that every product is
// below one step; if not, the number is clip/√ss·(1−2^-40), whatever the size of slope.
// Both leave an integer norm below clip, as in add.
func (g *gate) scaled(slope, ss float64) (factor float64, proven bool) {
	root := math.Sqrt(ss)
	n := math.Abs(slope) * root
	factor = slope * g.perStep
	if n > g.length {
		factor = math.Copysign(g.clip/root*shrink, slope)
	}
	return factor, ss >= leastSquares && ss <= mostSquares && n <= math.MaxFloat64
}

const (
	shrink       = 1 - 0x1p-40
	leastSquares = 0x1p-900
	mostSquares  = 0x1p1000
)

// factorsOneByOne replaces squared norms by factors and reports whether all are proven.
func (g *gate) factorsOneByOne(factors, slopes []float64) bool {
	all := true
	for l, ss := range factors {
		factor, proven := g.scaled(slopes[l], ss)
		factors[l] = factor
		all = all && proven
	}
	return all
}
