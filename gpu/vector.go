package gpu

// The loops in this file are written for speed. The compiler can prove most index bounds, and sums
// have several independent accumulators.

// weightedSquares returns Σ w x² over the elements of x and w.
func weightedSquares(x, w []float64) float64 {
	x = x[:len(w)]
	var a, b float64
	for len(w) >= 2 {
		x2, w2 := x[:2:2], w[:2:2]
		a += x2[0] * x2[0] * w2[0]
		b += x2[1] * x2[1] * w2[1]
		x, w = x[2:], w[2:]
	}
	for i, v := range w {
		a += x[i] * x[i] * v
	}
	return a + b
}

// addRows adds Σ_l c[l]·x_l to dst, where x_l is row rows[l] of x. It adds four rows at a time.
func addRows(dst, c, x []float64, rows []int32) {
	d := len(dst)
	if d == 1 {
		addNumbers(dst, c, x, rows)
		return
	}
	l := 0
	for ; l+4 <= len(rows); l += 4 {
		a, b := x[int(rows[l])*d:][:d], x[int(rows[l+1])*d:][:d]
		e, f := x[int(rows[l+2])*d:][:d], x[int(rows[l+3])*d:][:d]
		ca, cb, ce, cf := c[l], c[l+1], c[l+2], c[l+3]
		for j := range dst {
			dst[j] += (ca*a[j] + cb*b[j]) + (ce*e[j] + cf*f[j])
		}
	}
	for ; l < len(rows); l++ {
		row := x[int(rows[l])*d:][:d]
		for j, v := range row {
			dst[j] += c[l] * v
		}
	}
}

// scaleRows writes c[l]·x_l to dst, beginning at element l·stride, for each l, where x_l is row
// rows[l] of x. Rows have cols elements.
func scaleRows(dst []float64, stride int, c, x []float64, rows []int32, cols int) {
	for l, g := range c {
		to := dst[l*stride:][:cols]
		for j, v := range x[int(rows[l])*cols:][:cols] {
			to[j] = g * v
		}
	}
}

// addNumbers does the same as addRows, for rows that have one element.
func addNumbers(dst, c, x []float64, rows []int32) {
	c = c[:len(rows)]
	var a, b float64
	l := 0
	for ; l < len(rows)-1; l += 2 {
		a += c[l] * x[rows[l]]
		b += c[l+1] * x[rows[l+1]]
	}
	if l < len(rows) {
		a += c[l] * x[rows[l]]
	}
	dst[0] += a + b
}
