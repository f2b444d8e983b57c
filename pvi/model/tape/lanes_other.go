//go:build !amd64

package tape

// dotFours writes the products of v with the given rows of x to dst, four at a time. It leaves out
// the one to three rows that remain, and returns the number of products it has computed.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	return dotFoursOneByOne(dst, x, rows, v)
}

const hasLanes = false

func addFours(_, _, _ []float64)    {}
func subFours(_, _, _ []float64)    {}
func mulFours(_, _, _ []float64)    {}
func mulAddFours(_, _, _ []float64) {}
