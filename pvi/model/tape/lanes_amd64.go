package tape

import "golang.org/x/sys/cpu"

// The functions in this file use vector instructions if hasLanes is true. Without those in
// dotFours, a study with the Adult data (experiments/adult/private.toml) takes 7 % more CPU time.

var hasLanes = cpu.X86.HasAVX

//go:noescape
func dotRowsAVX(dst []float64, rows []int32, x *float64, v []float64)

// dotFours writes the products of v with the given rows of x to dst, four at a time. It leaves out
// the one to three rows that remain, and returns the number of products it has computed.
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

// addFours writes a + b to dst. Like subFours, mulFours and mulAddFours, it computes four elements
// at a time and leaves out the one to three elements that remain.
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
