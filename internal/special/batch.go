package special

import "math"

// The functions in this file compute many elements without calls or branches, so that the CPU can
// overlap the computations. Exponentials and probabilities are the same on every machine, bit for
// bit. The others give the same bits on all machines that do not fuse multiplications and
// additions.

// ExpAll writes eˣ for every element of x to dst, which may be x. The relative error is below
// 4e-16. It uses a table of 64 powers of two between 1 and 2, and a polynomial of degree 5.
// math.Exp computes elements that overflow or underflow. Conversions to float64 prevent fused
// operations, so that every machine computes the same bits.
func ExpAll(dst, x []float64) {
	x = x[:len(dst)]
	// expOneByOne computes the group of four elements at which expFours stops.
	for hasLanes && len(x) >= 4 {
		n := expFours(dst, x, &exp2Table)
		rest := min(n+4, len(x))
		expOneByOne(dst[n:rest], x[n:rest])
		dst, x = dst[rest:], x[rest:]
	}
	expOneByOne(dst, x)
}

func expOneByOne(dst, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		if !(v > -708 && v < 709) {
			dst[i] = math.Exp(v)
			continue
		}
		shifted := float64(v*(64*math.Log2E)) + roundBits
		n := shifted - roundBits
		k := int64(math.Float64bits(shifted)) // the low bits of k are the rounded exponent n
		r := v - float64(n*ln2High) - float64(n*ln2Low)
		p := r * (1 + float64(r*(1./2+float64(r*(1./6+float64(r*(1./24+float64(r*(1./120)))))))))
		t := exp2Table[k&63]
		scale := math.Float64frombits(uint64(k>>6+1023) << 52)
		dst[i] = (t + float64(t*p)) * scale
	}
}

const (
	// The low bits of x + roundBits are the whole number nearest to x, for |x| ≤ 2⁵¹.
	roundBits = 3 << 51
	// ln2High + ln2Low is (ln 2)/64. ln2High times a whole number of up to 17 bits is exact.
	ln2High = 0x1.62e42fefap-7
	ln2Low  = 0x1.cf79abc9e3b3ap-46
)

// exp2Table holds 2^(j/64) at index j.
var exp2Table = func() (t [64]float64) {
	for j := range t {
		t[j] = math.Exp2(float64(j) / 64)
	}
	return t
}()

// A centred is a row of logTable or log1pTable. It has a number c, its reciprocal 1/c and its
// logarithm.
type centred struct{ centre, inverse, log float64 }

// logTable has a row for each c = .75 + j/128 up to 1.75. LogAll uses those up to 1.5. log1pTable
// has a row for each c = 1 + j/128 up to 2.
var logTable, log1pTable = tabulate(.75), tabulate(1)

func tabulate(from float64) (t [256]centred) {
	for j := range 129 {
		c := from + float64(j)/128
		t[j] = centred{c, 1 / c, math.Log(c)}
	}
	return t
}

// LogAll writes log x for every element of x to dst, which may be x. The relative error is below
// 4e-16.
func LogAll(dst, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		if !(v >= 0x1p-1022 && v <= math.MaxFloat64) {
			dst[i] = math.Log(v)
			continue
		}
		b := math.Float64bits(v)
		e := (b - threeQuarters) & (0xfff << 52)
		m := math.Float64frombits(b - e) // mantissa, between .75 and 1.5
		row := &logTable[uint8(int32((m-.75)*128+.5))]
		f := (m - row.centre) * row.inverse
		dst[i] = float64(int64(e)>>52)*math.Ln2 + row.log + f*(1-f*(1./2-f*(1./3-f*(1./4-f*(1./5-f*(1./6-f*(1./7)))))))
	}
}

// threeQuarters is the bit pattern of .75 as a float64.
const threeQuarters = 0x3fe8 << 48

// Log1pAll writes log(1+x) for every element of x to dst, which may be x. The relative error is
// below 4e-16.
func Log1pAll(dst, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		switch {
		case v >= 0 && v <= 1:
			row := &log1pTable[uint8(int32(v*128+.5))]
			f := (v - (row.centre - 1)) * row.inverse
			dst[i] = row.log + f*(1-f*(1./2-f*(1./3-f*(1./4-f*(1./5-f*(1./6-f*(1./7)))))))
		default:
			dst[i] = math.Log1p(v)
		}
	}
}

// powersLess1 holds 2^(j/64) − 1 at index j.
var powersLess1 = func() (t [64]float64) {
	for j := range t {
		t[j] = math.Expm1(float64(j) * (math.Ln2 / 64))
	}
	return t
}()

// TanhAll writes tanh x for every element of x to dst, which may be x. The relative error is below
// 1e-15. With E = e^(2|x|) − 1, computed from powersLess1 without cancellation,
//
//	tanh |x| = E/(E + 2)
func TanhAll(dst, x []float64) {
	x = x[:len(dst)]
	for i, u := range x {
		v := min(2*math.Abs(u), 44) // if |u| exceeds 22, the result is 1 to the last bit
		shifted := v*(64*math.Log2E) + roundBits
		n := shifted - roundBits
		k := int64(math.Float64bits(shifted))
		r := v - n*ln2High - n*ln2Low
		p := r * (1 + r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720))))))
		t := exp2Table[k&63]
		scale := math.Float64frombits(uint64(k>>6+1023) << 52)
		e := powersLess1[k&63] + (scale-1)*t + scale*t*p
		dst[i] = math.Copysign(e/(e+2), u)
	}
}

// InvLogitAll writes 1/(1+e⁻ˣ) for every element of x to prob, which may not be x. It computes the
// same bits as SoftplusAll.
func InvLogitAll(prob, x []float64) {
	prob = prob[:len(x)]
	for i, u := range x {
		prob[i] = -math.Abs(u)
	}
	ExpAll(prob, prob)
	for i, u := range x {
		prob[i] = invLogitOf(prob[i], u)
	}
}

// invLogitOf returns 1/(1+e⁻ˣ), given e = e^(−|x|). It has no branch, because CPUs would often
// predict it wrongly.
func invLogitOf(e, x float64) float64 {
	negative := uint64(int64(math.Float64bits(x)) >> 63)
	return math.Float64frombits(math.Float64bits(e)&negative|math.Float64bits(1)&^negative) / (1 + e)
}

// SoftplusAll writes log(1+eˣ) to soft and 1/(1+e⁻ˣ) to prob for every element of x. Neither soft
// nor prob may be x. Relative errors are below 1e-15.
func SoftplusAll(soft, prob, x []float64) {
	soft, prob = soft[:len(x)], prob[:len(x)]
	for i, u := range x {
		prob[i] = -math.Abs(u)
	}
	ExpAll(prob, prob)
	Log1pAll(soft, prob)
	for i, u := range x {
		negative := uint64(int64(math.Float64bits(u)) >> 63)
		soft[i] += math.Float64frombits(math.Float64bits(u) &^ negative) // adds max(u, 0)
		prob[i] = invLogitOf(prob[i], u)
	}
}
