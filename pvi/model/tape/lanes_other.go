//go:build !amd64

package tape

// dotFours writes the products of v with the rows of x in groups of four. It skips the last rows
// if they do not fill a group, and returns the number of rows that it computed.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	return dotFoursOneByOne(dst, x, rows, v)
}
