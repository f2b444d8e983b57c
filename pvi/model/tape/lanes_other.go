//go:build !amd64

package tape

// dotFours writes to dst the product of v with each row of x whose number is in rows. It computes
// four products at a time, and leaves out the last one, two or three rows if the number of rows is
// not a multiple of four. It returns the number of products that it wrote.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	return dotFoursOneByOne(dst, x, rows, v)
}

const hasLanes = false

func addFours(_, _, _ []float64)    {}
func subFours(_, _, _ []float64)    {}
func mulFours(_, _, _ []float64)    {}
func mulAddFours(_, _, _ []float64) {}
