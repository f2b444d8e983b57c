package dpmech

// This file contains the loops of the gate for vectors whose norm is proven to be within the clip
// ([gate.add]). These loops check no norm. lanes_amd64.s contains the same loops in vector
// instructions, which process several rows at once and give the same results to the last bit.
// docs/develop/benchmarks.md shows how much time they save in whole commands.

// sumOfSquares returns the sum of the squares of the elements of v. The conversions to float64
// prevent fused multiply-adds, so that the result is the same on every machine.
func sumOfSquares(v []float64) float64 {
	var a, b, c, d float64
	for len(v) >= 4 {
		a += float64(v[0] * v[0])
		b += float64(v[1] * v[1])
		c += float64(v[2] * v[2])
		d += float64(v[3] * v[3])
		v = v[4:]
	}
	for _, x := range v {
		a += float64(x * x)
	}
	return (a + b) + (c + d)
}

// addTruncated adds v·factor, truncated toward zero, to sum, which must be as long as v. The
// products must be below 2^51 in absolute value.
func addTruncated(sum []int64, v []float64, factor float64) {
	for len(v) >= 4 && len(sum) >= 4 {
		sum[0] += int64(v[0] * factor)
		sum[1] += int64(v[1] * factor)
		sum[2] += int64(v[2] * factor)
		sum[3] += int64(v[3] * factor)
		sum, v = sum[4:], v[4:]
	}
	sum = sum[:len(v)]
	for i, x := range v {
		sum[i] += int64(x * factor)
	}
}

// sumsOfSquaresPlain sets dst[l] to the sum of squares of row rows[l], for each l. A row of x has d
// elements.
func sumsOfSquaresPlain(dst []float64, rows []int32, x []float64, d int) {
	for l, row := range rows {
		dst[l] = sumOfSquares(x[int(row)*d:][:d])
	}
}

// addTruncatedRowsPlain adds factors[l]·x[rows[l]], truncated toward zero, to sum, for each l.
// There are at most rowsAtOnce rows, each as long as sum. The absolute values of the products are
// at most 2^maxClipBits.
func addTruncatedRowsPlain(sum []int64, factors []float64, rows []int32, x []float64) {
	for l, row := range rows {
		addTruncated(sum, x[int(row)*len(sum):][:len(sum)], factors[l])
	}
}
