//go:build !amd64

package dpmech

func sumOfSquares(v []float64) float64 { return sumOfSquaresOneByOne(v) }

func addTruncated(sum []int64, v []float64, factor float64) { addTruncatedOneByOne(sum, v, factor) }

func sumsOfSquares(dst []float64, rows []int32, x []float64, d int) {
	sumsOfSquaresOneByOne(dst, rows, x, d)
}

func addTruncatedRows(sum []int64, factors []float64, rows []int32, x []float64) {
	addTruncatedRowsOneByOne(sum, factors, rows, x)
}

// factors replaces squared norms by factors and reports whether all are proven to be
// safe.
func (g *gate) factors(factors, slopes []float64) bool { return g.factorsOneByOne(factors, slopes) }
