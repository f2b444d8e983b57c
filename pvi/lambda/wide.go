package lambda

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
)

// A Wide is a 128-bit signed integer, Hi·2^64 + Lo in two's complement: an element of λ in units of
// the lattice.
type Wide struct {
	Hi int64
	Lo uint64
}

// Add returns w + v, which must not overflow.
func (w Wide) Add(v Wide) Wide {
	lo, carry := bits.Add64(w.Lo, v.Lo, 0)
	hi, _ := bits.Add64(uint64(w.Hi), uint64(v.Hi), carry)
	return Wide{int64(hi), lo}
}

// Neg returns −w.
func (w Wide) Neg() Wide {
	lo, borrow := bits.Sub64(0, w.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(w.Hi), borrow)
	return Wide{int64(hi), lo}
}

// Product returns a·b.
func Product(a, b int64) Wide {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	w := Wide{int64(hi), lo}
	if (a < 0) != (b < 0) {
		return w.Neg()
	}
	return w
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// Float returns w·2^-exponent as a float64. Every machine rounds in the same way.
func (w Wide) Float(exponent int) float64 {
	negative := w.Hi < 0
	if negative {
		w = w.Neg()
	}
	// The product is exact, so at most three operations round: the two conversions and the
	// addition.
	x := float64(uint64(w.Hi))*0x1p64 + float64(w.Lo)
	if negative {
		x = -x
	}
	return math.Ldexp(x, -exponent)
}

// Round returns x·2^exponent, rounded to the nearest integer, or false if it does not fit into a
// Wide.
func Round(x float64, exponent int) (w Wide, ok bool) {
	y := math.RoundToEven(math.Ldexp(math.Abs(x), exponent))
	if !(y < 0x1p126) {
		return Wide{}, false
	}
	high := math.Floor(y * 0x1p-64)
	w = Wide{int64(high), uint64(y - high*0x1p64)} // exact, because y has 53 significant bits
	if x < 0 {
		w = w.Neg()
	}
	return w, true
}

// MarshalText writes w as 32 hexadecimal digits, in two's complement.
func (w Wide) MarshalText() ([]byte, error) { return w.AppendText(nil) }

// AppendText appends the text of MarshalText to b.
func (w Wide) AppendText(b []byte) ([]byte, error) {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(w.Hi))
	binary.BigEndian.PutUint64(raw[8:], w.Lo)
	return hex.AppendEncode(b, raw[:]), nil
}

// UnmarshalText reads the text that MarshalText wrote.
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
