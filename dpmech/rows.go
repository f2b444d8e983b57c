package dpmech

import (
	"errors"
	"fmt"
	"math"
)

// rowsAtOnce is the number of rows that are clipped and added together. The elements of the clipped
// rows are at most clip ≤ 2^maxClipBits in absolute value, so their sum is far below 2^51.
const rowsAtOnce = 64

// together returns the number of rows of d elements that are added together. Unless rows are very
// long, these rows fit in a cache. The program then reads them from memory only once, although it
// needs them twice, for the norms and for the sum. Vector instructions compute four norms at a
// time.
func together(d int) int {
	const cached, lanes = 1 << 14, 4 // number of elements that fit in the cache, 128 KiB
	return max(lanes, min(rowsAtOnce, cached/d))
}

// AddRows adds one vector for each row number in rows. Vector l is slopes[l]·x[rows[l]·d :
// (rows[l]+1)·d], where d is the length of a vector. Each vector is clipped and truncated. A vector
// that is not finite counts as zero. AddRows is for models in which a record's gradient is a
// multiple of its covariates. The contribution of a row depends only on its slope and its elements.
// It equals the contribution of [Accumulator.Add] up to the rounding of products. AddRows returns
// an error if x does not contain a row, or if there are more vectors than [Accumulator.Add] allows.
// The release then fails, even if the caller ignores the error.
func (a *Accumulator) AddRows(slopes []float64, rows []int32, x []float64) error {
	d := len(a.sum)
	switch {
	case len(slopes) != len(rows):
		return a.fail(fmt.Errorf("%d slopes for %d rows", len(slopes), len(rows)))
	case !within(rows, len(x)/d):
		return a.fail(errors.New("a row is not in the table"))
	case a.joining:
		for l, row := range rows {
			a.join(slopes[l], x[int(row)*d:][:d])
		}
		return nil
	case len(rows) > a.most-a.terms:
		return a.fail(a.tooMany())
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

// within reports whether all elements of rows are from 0 to n−1.
func within(rows []int32, n int) bool {
	for _, row := range rows {
		if uint(row) >= uint(n) { // the conversion makes negative rows large
			return false
		}
	}
	return true
}

// addFormed adds rows one by one, with the same result as AddRows. If the proof of [gate.scaled]
// does not hold for a row, it computes the vector slope·row.
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

// addRows adds the clipped and truncated products of slopes and rows to sum, for at most rowsAtOnce
// rows, and returns true. If a slope or a row is not finite, or if the proof of [gate.scaled] does
// not hold for a row, addRows returns false and leaves sum unchanged. The proof does not hold for
// rows of more than provenDim elements.
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

// scaled returns the factor that converts a row to lattice steps of the clipped slope·row. ss is
// the row's squared norm. proven is true if the following proof shows that the integer norm is
// within the clip.
//
// Each element is multiplied by one factor, which combines the lattice step, the slope and the
// shortening. Let ss be from 2^-900 to 2^1000 and computed as in [gate.add], and let n be the
// computed value of |slope|·√ss. Then slope·row has a norm of at most
//
//	n·(1+2^-41.8)·(1+2^-51).
//
// If n is at most g.length = clip·step·(1−2^-40), the factor is slope/step. This quotient is exact,
// or so small that every product is below one step. Otherwise the factor is clip/√ss·(1−2^-40) with
// the sign of slope. In both cases the integer norm is below clip, as in [gate.add].
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

// factors decides how each of several rows is scaled. On entry, factors holds the squared norms of
// the rows. The method replaces each of them with the factor from [gate.scaled]. It reports whether
// the proof of gate.scaled holds for all rows.
func (g *gate) factors(factors, slopes []float64) bool {
	all := true
	for l, ss := range factors {
		factor, proven := g.scaled(slopes[l], ss)
		factors[l] = factor
		all = all && proven
	}
	return all
}
