package math32

import "math"

//go:noescape
func softplusAVX2(dst, slope, x *float32, n int, constants *[softplusConstants][8]float32)

//go:noescape
func adamAVX2(c *adamStep, w, first, second, gradient *float32, n int)

const softplusConstants = 19

// softplusTable holds constants, each repeated for eight lanes: a sign bit, 1/log 2, the smallest
// exponent, log 2 in two parts, 1, and the coefficients of two series. The first is eʳ for |r| ≤ ½
// log 2 (Moshier, Cephes, expf). The second is 2·artanh(s) = log(1 + t) with s = t/(2 + t) ≤ 1/3;
// its first omitted term is below 1.4e-8 times the sum.
var softplusTable = inLanes([softplusConstants]float32{
	float32(math.Copysign(0, -1)), 1.44269504088896341, -87,
	0.693359375, -2.12194440e-4, 1,
	1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1,
	1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1,
})

func inLanes(constants [softplusConstants]float32) (lanes [softplusConstants][8]float32) {
	for i, c := range constants {
		lanes[i] = [8]float32{c, c, c, c, c, c, c, c}
	}
	return lanes
}

// softplus computes [Softplus] with vector instructions for the elements that fill whole registers.
// It returns their number, which is 0 if the CPU lacks these instructions.
func softplus(dst, slope, x []float32) int {
	n := len(x) &^ 7
	if !hasLanes || n == 0 {
		return 0
	}
	_, _ = dst[n-1], slope[n-1]
	softplusAVX2(&dst[0], &slope[0], &x[0], n, &softplusTable)
	return n
}

// adam is like softplus, for [AdamStep.Move].
func adam(c *adamStep, w, first, second, gradient []float32) int {
	n := len(gradient) &^ 7
	if !hasLanes || n == 0 {
		return 0
	}
	_, _, _ = w[n-1], first[n-1], second[n-1]
	adamAVX2(c, &w[0], &first[0], &second[0], &gradient[0], n)
	return n
}
