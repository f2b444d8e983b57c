//go:build !amd64

package dpmech

func sumsOfSquares(dst []float64, rows []int32, x []float64, d int) {
	sumsOfSquaresPlain(dst, rows, x, d)
}

func addTruncatedRows(sum []int64, factors []float64, rows []int32, x []float64) {
	addTruncatedRowsPlain(sum, factors, rows, x)
}
