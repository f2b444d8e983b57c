//go:build !amd64

package tape

// dotFours writes the products of as many rows as make fours, and returns how many.
func dotFours(dst, x []float64, rows []int32, v []float64) int {
	return dotFoursOneByOne(dst, x, rows, v)
}
