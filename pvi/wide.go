package pvi

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
)

// A Wide is a 128-bit signed integer, one element of λ on its lattice.
type Wide struct {
	hi int64
	lo uint64
}

// add returns w + v. The caller knows that it does not overflow.
func (w Wide) add(v Wide) Wide {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, _ := bits.Add64(uint64(w.hi), uint64(v.hi), carry)
	return Wide{int64(hi), lo}
}

// neg returns −w.
func (w Wide) neg() Wide {
	lo, borrow := bits.Sub64(0, w.lo, 0)
	hi, _ := bits.Sub64(0, uint64(w.hi), borrow)
	return Wide{int64(hi), lo}
}

// product returns a·b.
func product(a, b int64) Wide {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	w := Wide{int64(hi), lo}
	if (a < 0) != (b < 0) {
		return w.neg()
	}
	return w
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// float returns w·2^-exponent, rounded the same way on every machine.
func (w Wide) float(exponent int) float64 {
	negative := w.hi < 0
	if negative {
		w = w.neg()
	}
	// Three roundings at most, each to nearest: of either word and of the sum. The
	// product is exact.
	x := float64(uint64(w.hi))*0x1p64 + float64(w.lo)
	if negative {
		x = -x
	}
	return math.Ldexp(x, -exponent)
}

// wideOf returns x·2^exponent, rounded to nearest; false if it does not fit, or x is not
// a number.
func wideOf(x float64, exponent int) (w Wide, ok bool) {
	y := math.RoundToEven(math.Ldexp(math.Abs(x), exponent))
	if !(y < 0x1p126) {
		return Wide{}, false
	}
	high := math.Floor(y * 0x1p-64)
	w = Wide{int64(high), uint64(y - high*0x1p64)} // exact: y has 53 bits
	if x < 0 {
		w = w.neg()
	}
	return w, true
}

// MarshalText writes w as 32 hexadecimal digits, two's complement.
func (w Wide) MarshalText() ([]byte, error) { return w.appendText(nil), nil }

func (w Wide) appendText(b []byte) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(w.hi))
	binary.BigEndian.PutUint64(raw[8:], w.lo)
	return hex.AppendEncode(b, raw[:])
}

// UnmarshalText reads what MarshalText wrote.
func (w *Wide) UnmarshalText(text []byte) error {
	var raw [16]byte
	if len(text) != 2*len(raw) {
		return fmt.Errorf("lattice element: want %d hexadecimal digits, got %d bytes", 2*len(raw), len(text))
	}
	if _, err := hex.Decode(raw[:], text); err != nil {
		return fmt.Errorf("lattice element: %w", err)
	}
	*w = Wide{int64(binary.BigEndian.Uint64(raw[:8])), binary.BigEndian.Uint64(raw[8:])}
	return nil
}
