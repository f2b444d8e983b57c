package tape

// The functions in this file work element by element. The slices a and b must be at least as long
// as dst, and may be the same.

func sums(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	l := 0
	if hasLanes {
		addFours(dst, a, b)
		l = len(dst) &^ 3
	}
	for ; l < len(dst); l++ {
		dst[l] = a[l] + b[l]
	}
}

func differences(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	l := 0
	if hasLanes {
		subFours(dst, a, b)
		l = len(dst) &^ 3
	}
	for ; l < len(dst); l++ {
		dst[l] = a[l] - b[l]
	}
}

func products(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	l := 0
	if hasLanes {
		mulFours(dst, a, b)
		l = len(dst) &^ 3
	}
	for ; l < len(dst); l++ {
		dst[l] = a[l] * b[l]
	}
}

// addProducts adds a·b to dst. The conversion to float64 prevents a fused multiply-add, so that the
// result has the same bits as with vector instructions.
func addProducts(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	l := 0
	if hasLanes {
		mulAddFours(dst, a, b)
		l = len(dst) &^ 3
	}
	for ; l < len(dst); l++ {
		dst[l] += float64(a[l] * b[l])
	}
}
