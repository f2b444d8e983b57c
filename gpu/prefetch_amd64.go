package gpu

// prefetchRows asks for the cache lines of rows of size bytes in a table that begins at
// x. It computes nothing.
//
//go:noescape
func prefetchRows(x *float64, rows []int32, size int)
