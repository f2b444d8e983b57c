//go:build !amd64

package tape

// dotFours writes to dst the products of v with the rows of x, four rows at a time. It leaves
// out the rows at the end that do not fill a group of four. It returns the number of products
// that it wrote.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	return dotFoursOneByOne(dst, x, rows, v)
}
