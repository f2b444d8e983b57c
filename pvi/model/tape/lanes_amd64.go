package tape

import "golang.org/x/sys/cpu"

// The functions in this file use vector instructions, which the CPU has if hasLanes is true.
// Without vector instructions in dotFours, a study on Adult (experiments/adult/private.toml) takes
// 7 % more CPU time.

var hasLanes = cpu.X86.HasAVX

//go:noescape
func dotRowsAVX(dst []float64, rows []int32, x *float64, v []float64)

// dotFours writes to dst the product of v with each row of x whose number is in rows. It computes
// four products at a time, and leaves out the last one, two or three rows if the number of rows is
// not a multiple of four. It returns the number of products that it wrote.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	if !hasLanes || len(v) == 0 {
		return dotFoursOneByOne(dst, x, rows, v)
	}
	fours := len(rows) &^ 3
	if fours > 0 {
		dotRowsAVX(dst[:fours], rows[:fours], &x[0], v)
	}
	return fours
}

// addFours writes a + b to dst. The functions addFours, subFours, mulFours and mulAddFours compute
// four elements at a time, and leave out the last one to three elements of dst.
//
//go:noescape
func addFours(dst, a, b []float64)

// subFours writes a − b to dst.
//
//go:noescape
func subFours(dst, a, b []float64)

// mulFours writes a·b to dst.
//
//go:noescape
func mulFours(dst, a, b []float64)

// mulAddFours adds a·b to dst.
//
//go:noescape
func mulAddFours(dst, a, b []float64)
