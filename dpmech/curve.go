package dpmech

import (
	"math/big"
	"math/bits"
	"sync"
)

// A curve computes bounds on f(x) = exp(−x²/2σ²) for σ = num/den. The method at is fast, and its
// bounds are in units of 2^-unitBits. The method within computes bounds of any precision.
type curve struct {
	den   uint64
	twice uint64 // 2·num², the numerator of 2σ²
	*exponentials
}

// unitBits is the number of fractional bits in bounds on f(x) = exp(−x²/2σ²). In a 64-bit word,
// this leaves two bits for the integer part, so bounds must be below 4.
const unitBits = 62

func newCurve(num, den uint64) *curve {
	return &curve{den: den, twice: 2 * num * num, exponentials: fixedExponentials()}
}

// exponent returns the integer part of x²/2σ², and 64 bits of its fraction, rounded down. If x is
// at most the sampler's bound plus one, then x/σ is below 2^20 + 2^31 + 2, and the integer part is
// below 2^62. For σ ≥ 1, x/σ is even below 2^20 + 3.
func (c *curve) exponent(x uint64) (whole, fraction uint64) {
	hi, lo := bits.Mul64(x*c.den, x*c.den)
	whole, rest := bits.Div64(hi, lo, c.twice)
	fraction, _ = bits.Div64(rest, 0, c.twice)
	return whole, fraction
}

// exponentials has the tables for computing e^−t: powers of e, and inverse factorials. Each number
// is multiplied by 2^unitBits and rounded down to an integer.
type exponentials struct {
	whole     [45]uint64 // e^−n at index n
	sixteenth [16]uint64 // e^(−n/16) at index n
	inverse   [11]uint64 // 1/n! at index n
}

var fixedExponentials = sync.OnceValue(func() *exponentials {
	e := new(exponentials)
	table := func(dst []uint64, per int64) {
		for n := range dst {
			const precision = unitBits + 64
			low, _ := exponential(big.NewInt(int64(n)), big.NewInt(per), precision)
			dst[n] = low.Rsh(low, precision-unitBits).Uint64()
		}
	}
	table(e.whole[:], 1)
	table(e.sixteenth[:], 16)
	e.inverse[0] = 1 << unitBits
	for n := range e.inverse[1:] {
		e.inverse[n+1] = e.inverse[n] / uint64(n+1)
	}
	return e
})

// slack bounds the error of [curve.at], in units of 2^-unitBits.
//
// The exponent is truncated by less than 2^-64. The power e^-t, for t < 1/16, is replaced by a
// polynomial of degree 10 whose remainder is below (1/16)^11/11! < 2^-69. Both errors together are
// less than one unit. In the polynomial every coefficient and every product is rounded by less than
// one unit, and later steps divide this error by 16, so the error is below 2·16/15 units. The two
// factors from tables are rounded by less than two units each: they are computed as lower bounds
// whose error is far below one unit, and rounding these bounds down adds at most one more unit. The
// products are rounded by less than one unit each. The total is below 9.2 units.
const slack = 10

// at returns bounds on f(x) in units of 2^-unitBits. x may be up to the sampler's bound plus one.
func (c *curve) at(x uint64) (low, high uint64) {
	whole, fraction := c.exponent(x)
	if whole >= uint64(len(c.whole)) {
		return 0, slack // e^-45 is below 2^-64
	}
	t := fraction << 4 >> 4 // remainder of fraction modulo 1/16, in units of 2^-64
	sum := c.inverse[len(c.inverse)-1]
	for n := len(c.inverse) - 2; n >= 0; n-- {
		product, _ := bits.Mul64(t, sum)
		sum = c.inverse[n] - product
	}
	value := scaled(scaled(sum, c.sixteenth[fraction>>60]), c.whole[whole])
	return value - min(value, slack), value + slack
}

// scaled returns a·b/2^unitBits, rounded down.
func scaled(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi<<(64-unitBits) | lo>>unitBits
}

// within returns bounds on f(x) in units of 2^-precision. They differ by at most 3 units.
func (c *curve) within(x uint64, precision uint) (low, high *big.Int) {
	square := new(big.Int).SetUint64(x)
	square.Mul(square, new(big.Int).SetUint64(c.den))
	square.Mul(square, square)
	return exponential(square, new(big.Int).SetUint64(c.twice), precision)
}

// exponential returns bounds on e^(−a/b) in units of 2^-precision. The bounds differ by at most 3
// units.
//
// It computes (e^(−r))^(2^k) with r = a/b·2^-k < 1, by the power series and k squarings, in units
// of 2^-(precision+k+16). The rounding of r changes e^(−r) by less than one unit. The error of a
// term is below 3 units. It consists of at most half of the error of the previous term, the error
// of r, and the rounding of the term itself. There are fewer than 2^12 terms, and the omitted terms
// add less than one unit, so the error of the sum is less than 2^14. A squaring at most doubles an
// error and rounds by another unit, so the total is below 2^k·(2^14 + 1). This is less than one
// unit of the result, and the last rounding adds one more unit.
func exponential(a, b *big.Int, precision uint) (low, high *big.Int) {
	whole := new(big.Int).Quo(a, b)
	if whole.Cmp(big.NewInt(int64(precision))) >= 0 {
		return new(big.Int), big.NewInt(1)
	}
	k := uint(whole.BitLen())
	guard := k + 16
	p := precision + guard
	r := new(big.Int).Lsh(a, p-k)
	r.Quo(r, b)
	sum := new(big.Int)
	term := new(big.Int).Lsh(big.NewInt(1), p)
	for n := int64(1); term.Sign() != 0; n++ {
		sum.Add(sum, term)
		term.Mul(term, r).Rsh(term, p).Quo(term, big.NewInt(n))
		term.Neg(term)
	}
	for range k {
		sum.Mul(sum, sum).Rsh(sum, p)
	}
	sum.Rsh(sum, guard)
	low = new(big.Int).Sub(sum, big.NewInt(1))
	if low.Sign() < 0 {
		low.SetInt64(0)
	}
	return low, sum.Add(sum, big.NewInt(2))
}
