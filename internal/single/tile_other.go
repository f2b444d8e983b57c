//go:build !amd64

package single

func tile(dst []float32, stride int, a []float32, row, step int, b []float32, k int, add bool) {
	tilePlain(dst, stride, a, row, step, b, k, add)
}
