package gpu

import processor "golang.org/x/sys/cpu"

var hasLanes = processor.X86.HasAVX

//go:noescape
func scaleRowsAVX(dst *float64, stride int, c []float64, x *float64, rows []int32, cols int)

// scaleRows is scaleRowsOneByOne in lanes of four, where the processor has them.
func scaleRows(dst []float64, stride int, c, x []float64, rows []int32, cols int) {
	if !hasLanes || len(c) == 0 {
		scaleRowsOneByOne(dst, stride, c, x, rows, cols)
		return
	}
	_, _ = dst[(len(c)-1)*stride+cols-1], rows[len(c)-1]
	scaleRowsAVX(&dst[0], stride, c, &x[0], rows, cols)
}
