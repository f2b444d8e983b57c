//go:build !amd64

package dpmech

func sumsOfSquares(dst []float64, rows []int32, x []float64, d int) {
	sumsOfSquaresPlain(dst, rows, x, d)
}

func addTruncatedRows(sum []int64, factors []float64, rows []int32, x []float64) {
	addTruncatedRowsPlain(sum, factors, rows, x)
}

// factors replaces squared norms by factors and reports whether all are proven to be
// safe.
func (g *gate) factors(factors, slopes []float64) bool { return g.factorsPlain(factors, slopes) }
