package tape

// Dot returns x·y. x must be at least as long as y. Four partial sums are computed in parallel.
func Dot(x, y []float64) float64 {
	x = x[:len(y)]
	var a, b, c, d float64
	for len(y) >= 4 {
		x4, y4 := x[:4:4], y[:4:4]
		a += x4[0] * y4[0]
		b += x4[1] * y4[1]
		c += x4[2] * y4[2]
		d += x4[3] * y4[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range y {
		a += x[i] * v
	}
	return (a + b) + (c + d)
}

// DotRows writes the products of v with the given rows of x to dst. It works on four rows at a
// time, so that the processor can load them in parallel. Each product is the sum of two partial
// sums.
func DotRows(dst, x []float64, rows []int32, v []float64) {
	d := len(v)
	dst = dst[:len(rows)]
	if d == 1 {
		for l, row := range rows {
			dst[l] = x[row] * v[0]
		}
		return
	}
	for l := dotFours(dst, x, rows, v); l < len(rows); l++ {
		dst[l] = dotTwoStrands(x[int(rows[l])*d:][:d], v)
	}
}

func dotFoursOneByOne(dst, x []float64, rows []int32, v []float64) int {
	d, l := len(v), 0
	for ; l+4 <= len(rows); l += 4 {
		a, b := x[int(rows[l])*d:][:d], x[int(rows[l+1])*d:][:d]
		e, f := x[int(rows[l+2])*d:][:d], x[int(rows[l+3])*d:][:d]
		dst[l], dst[l+1], dst[l+2], dst[l+3] = dotFour(a, b, e, f, v)
	}
	return l
}

func dotFour(a, b, e, f, v []float64) (sa, sb, se, sf float64) {
	a, b, e, f = a[:len(v)], b[:len(v)], e[:len(v)], f[:len(v)]
	var ta, tb, te, tf float64
	j := 0
	for ; j < len(v)-1; j += 2 {
		x, y := v[j], v[j+1]
		sa += float64(a[j] * x)
		ta += float64(a[j+1] * y)
		sb += float64(b[j] * x)
		tb += float64(b[j+1] * y)
		se += float64(e[j] * x)
		te += float64(e[j+1] * y)
		sf += float64(f[j] * x)
		tf += float64(f[j+1] * y)
	}
	if j < len(v) {
		x := v[j]
		sa += float64(a[j] * x)
		sb += float64(b[j] * x)
		se += float64(e[j] * x)
		sf += float64(f[j] * x)
	}
	return sa + ta, sb + tb, se + te, sf + tf
}

// dotTwoStrands returns a·v, with the same bits as dotFour. The conversions to float64 prevent
// fused multiply-adds. If only one of the two functions used these, a record's contribution would
// depend on its place in the batch.
func dotTwoStrands(a, v []float64) float64 {
	a = a[:len(v)]
	var s, t float64
	j := 0
	for ; j < len(v)-1; j += 2 {
		s += float64(a[j] * v[j])
		t += float64(a[j+1] * v[j+1])
	}
	if j < len(v) {
		s += float64(a[j] * v[j])
	}
	return s + t
}

func axpy(dst []float64, c float64, x []float64) {
	x = x[:len(dst)]
	for l := range dst {
		dst[l] += c * x[l]
	}
}
