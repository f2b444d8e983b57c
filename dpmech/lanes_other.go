//go:build !amd64

package dpmech

func sumOfSquares(v []float64) float64 { return sumOfSquaresOneByOne(v) }

func addTruncated(sum []int64, v []float64, factor float64) { addTruncatedOneByOne(sum, v, factor) }
