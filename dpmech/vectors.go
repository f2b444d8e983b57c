package dpmech

import (
	"fmt"
	"math"
)

// AddVectors adds the vectors that are stored one after another in v. The result is the same as
// from a call of [Accumulator.Add] for each vector, but AddVectors is faster.
func (a *Accumulator) AddVectors(v []float64) error {
	d := len(a.sum)
	n := len(v) / d
	switch {
	case len(v) != n*d:
		return a.fail(fmt.Errorf("%d elements are not a whole number of vectors of %d", len(v), d))
	case a.joining:
		for ; len(v) > 0; v = v[d:] {
			a.join(1, v[:d])
		}
		return nil
	case n > a.most-a.terms:
		return a.fail(a.tooMany())
	}
	a.terms += n
	for len(v) > 0 {
		some := d * min(len(v)/d, together(d))
		a.of.gate.addVectors(a.sum, v[:some])
		v = v[some:]
	}
	return nil
}

// inOrder contains the numbers 0, 1, 2, .... With it, vectors that are stored one after another can
// be added like rows of a table.
var inOrder = func() (rows [rowsAtOnce]int32) {
	for l := range rows {
		rows[l] = int32(l)
	}
	return rows
}()

// addVectors adds each of at most rowsAtOnce vectors to sum. Every vector is as long as sum, and is
// clipped with the same factor as in [gate.add].
func (g *gate) addVectors(sum []int64, v []float64) {
	d := len(sum)
	var space [rowsAtOnce]float64
	rows := inOrder[:len(v)/d]
	factors := space[:len(rows)]
	sumsOfSquares(factors, rows, v, d)
	if d <= provenDim && g.provenFactors(factors) {
		addTruncatedRows(sum, factors, rows, v)
		return
	}
	for ; len(v) > 0; v = v[d:] {
		g.add(sum, v[:d])
	}
}

// provenFactors decides how each of several vectors is scaled. On entry, factors holds the squared
// norms of the vectors. The method replaces them with the factors by which [gate.add] multiplies
// the vectors. It returns false if the proof of gate.add does not hold for one of them.
func (g *gate) provenFactors(factors []float64) bool {
	for l, ss := range factors {
		switch {
		case ss <= g.within:
			factors[l] = g.perStep
		case ss > g.squared && ss <= math.MaxFloat64:
			factors[l] = g.shorten(ss)
		default:
			return false
		}
	}
	return true
}
