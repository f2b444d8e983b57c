package dpmech

import (
	"math"

	"fedpvi/dpmech/internal/stream"
)

// Normals sets every element of dst to a standard normal number for the current step. Two words of
// 53 bits each determine a pair of numbers by the method of Box and Muller ("A Note on the
// Generation of Random Normal Deviates", 1958). All numbers are therefore within ±8.6. Like the
// numbers of [FillNormal], they protect no data. Logarithms, sines and cosines are computed from
// sums, products and quotients in a fixed order, so that they have the same bits on every machine.
func (p *Plan) Normals(dst []float64) {
	stream.Place(&p.bits, p.keys.draws, [3]uint32{forDraws, uint32(p.begun - 1)})
	portableNormals(dst, &p.bits)
}

// portableNormals fills dst with standard normal numbers. It makes two from each pair of words.
func portableNormals(dst []float64, src *Stream) {
	for i := 0; i < len(dst); i += 2 {
		first, second := normalPair(src.Uint64(), src.Uint64())
		dst[i] = first
		if i+1 < len(dst) {
			dst[i+1] = second
		}
	}
}

// normalPair returns two independent standard normal numbers from two words.
func normalPair(a, b uint64) (first, second float64) {
	u := float64(a>>11+1) * 0x1p-53 // uniform in (0, 1]
	radius := math.Sqrt(-2 * portableLog(u))
	// The two highest bits select a quarter of the circle. The other bits select an angle from −π/4
	// to π/4, measured from the middle of the quarter.
	angle := float64(int64(b<<2)>>11) * (math.Pi / 2 * 0x1p-53)
	sin, cos := portableSinCos(angle)
	switch b >> 62 {
	case 0:
		return radius * cos, radius * sin
	case 1:
		return -(radius * sin), radius * cos
	case 2:
		return -(radius * cos), -(radius * sin)
	}
	return radius * sin, -(radius * cos)
}

// portableLog returns log x for a normal x > 0. It writes x as 2^e·m with m in [√½, √2), and
// computes log x as e·log 2 + 2·artanh((m−1)/(m+1)). The function artanh is computed by its power
// series. The conversions to float64 prevent fused multiply-adds, which would round differently.
func portableLog(x float64) float64 {
	bits := math.Float64bits(x)
	e := int(bits>>52) - 1023
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m /= 2
		e++
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	sum := 1. / 23
	for k := 21.; k >= 1; k -= 2 {
		sum = float64(sum*z) + 1/k
	}
	// high and low add up to log 2. high has 32 bits, so that its products with small integers are
	// exact.
	const high, low = 0x1.62e42feep-1, 0x1.a39ef35793c76p-33
	return float64(float64(e)*high) + (float64(2*s*sum) + float64(float64(e)*low))
}

// portableSinCos returns sin x and cos x for |x| ≤ π/4, by their power series.
func portableSinCos(x float64) (sin, cos float64) {
	z := float64(x * x)
	sin = sinTerms[len(sinTerms)-1]
	for k := len(sinTerms) - 2; k >= 0; k-- {
		sin = sinTerms[k] + float64(z*sin)
	}
	cos = cosTerms[len(cosTerms)-1]
	for k := len(cosTerms) - 2; k >= 0; k-- {
		cos = cosTerms[k] + float64(z*cos)
	}
	return float64(x * sin), cos
}

// sinTerms and cosTerms are the coefficients of sin x/x and cos x in powers of x².
var (
	sinTerms = [...]float64{1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000}
	cosTerms = [...]float64{1, -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200, 1. / 20922789888000, -1. / 6402373705728000}
)
