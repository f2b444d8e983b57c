//go:build !amd64

package gpu

func scaleRows(dst []float64, stride int, c, x []float64, rows []int32, cols int) {
	scaleRowsOneByOne(dst, stride, c, x, rows, cols)
}
