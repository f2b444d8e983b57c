package dpmech

import (
	"errors"
	"fmt"
	"math"
)

// A Lattice is the grid of all multiples of the step 2^-exponent. A vector on the lattice is
// represented by integers. The zero Lattice has step 1.
type Lattice struct {
	exponent int
}

// maxExponent bounds the exponent, so that the step, the multiples of it that the program uses, and
// their squares are normal float64 numbers.
const maxExponent = 400

// NewLattice returns the lattice with step 2^-exponent.
func NewLattice(exponent int) (Lattice, error) {
	if exponent < -maxExponent || exponent > maxExponent {
		return Lattice{}, fmt.Errorf("lattice: exponent must lie in [-%d, %d], got %d", maxExponent, maxExponent, exponent)
	}
	return Lattice{exponent: exponent}, nil
}

// Exponent returns e for the step 2^-e.
func (l Lattice) Exponent() int { return l.exponent }

// Step returns the distance between neighbouring points, which is a power of two.
func (l Lattice) Step() float64 { return math.Ldexp(1, -l.exponent) }

// Float returns the real number n·step. The result is exact for |n| ≤ 2^53, and rounded to nearest
// for larger |n|.
func (l Lattice) Float(n int64) float64 { return math.Ldexp(float64(n), -l.exponent) }

// ErrNotFinite is returned for a vector with a NaN or an infinity.
var ErrNotFinite = errors.New("vector is not finite")

// Truncate writes v to dst in lattice steps, rounded toward zero. The elements must be finite, and
// smaller than bound lattice steps in absolute value. bound must be at most 2^62. Truncate is for
// vectors that need no privacy. Private vectors must go through a [GaussianSum].
func (l Lattice) Truncate(dst []int64, v []float64, bound int64) error {
	if len(dst) != len(v) {
		return fmt.Errorf("lattice: vector has %d elements, want %d", len(v), len(dst))
	}
	limit := float64(bound)
	for i, x := range v {
		scaled := math.Ldexp(x, l.exponent)
		if math.IsNaN(scaled) || math.IsInf(scaled, 0) {
			return fmt.Errorf("lattice: element %d: %w", i, ErrNotFinite)
		}
		if math.Abs(scaled) >= limit {
			return fmt.Errorf("lattice: element %d is outside of ±%g, the range of the lattice", i, l.Float(bound))
		}
		dst[i] = int64(scaled)
	}
	return nil
}
