//go:build !amd64

package math32

// hasLanes is false, because only amd64 has vector code. Tests read it.
var hasLanes bool

func tile(dst []float32, stride int, a []float32, row, step int, b []float32, k int, add bool) {
	tilePlain(dst, stride, a, row, step, b, k, add)
}

func transpose(_, _ Panels, _, from, _ int) int { return from }
