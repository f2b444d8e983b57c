package dpmech

import "golang.org/x/sys/cpu"

// The same results in lanes of four, where the processor has them.

var hasLanes = cpu.X86.HasAVX2

//go:noescape
func sumOfSquaresAVX2(v []float64) float64

//go:noescape
func addTruncatedAVX2(sum []int64, v []float64, factor float64)

func sumOfSquares(v []float64) float64 {
	if hasLanes {
		return sumOfSquaresAVX2(v)
	}
	return sumOfSquaresOneByOne(v)
}

func addTruncated(sum []int64, v []float64, factor float64) {
	if hasLanes {
		addTruncatedAVX2(sum[:len(v)], v, factor)
		return
	}
	addTruncatedOneByOne(sum, v, factor)
}
