//go:build !amd64

package tape

// dotFours writes the products of the rows in groups of four, and leaves out the last rows
// that do not fill a group. It returns the number of rows that it has computed.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	return dotFoursOneByOne(dst, x, rows, v)
}
