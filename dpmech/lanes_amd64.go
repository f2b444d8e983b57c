package dpmech

import "golang.org/x/sys/cpu"

// hasLanes is true if the CPU has the vector instructions in lanes_amd64.s. These work on four
// numbers at a time.
var hasLanes = cpu.X86.HasAVX2

//go:noescape
func sumsOfSquaresAVX2(dst []float64, rows []int32, x *float64, d int)

//go:noescape
func addTruncatedRowsAVX2(sum []int64, factors []float64, rows []int32, x *float64, mask *[32]int64)

func sumsOfSquares(dst []float64, rows []int32, x []float64, d int) {
	if !hasLanes {
		sumsOfSquaresPlain(dst, rows, x, d)
		return
	}
	fours := len(rows) &^ 3
	if fours > 0 {
		sumsOfSquaresAVX2(dst[:fours], rows[:fours], &x[0], d)
	}
	for l, row := range rows[fours:] {
		dst[fours+l] = sumOfSquares(x[int(row)*d:][:d])
	}
}

func addTruncatedRows(sum []int64, factors []float64, rows []int32, x []float64) {
	if !hasLanes {
		addTruncatedRowsPlain(sum, factors, rows, x)
		return
	}
	addTruncatedRowsAVX2(sum, factors[:len(rows)], rows, &x[0], &columnMask)
}

// columnMask selects elements of a vector register for the assembly code: −1 selects an element,
// and 0 does not. The slice columnMask[16−n:] selects the first n elements.
var columnMask = [32]int64{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
