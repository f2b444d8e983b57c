package lambda

import (
	"fmt"
	"math"

	"fedpvi/pvi/gaussian"
)

const (
	// CentreBits is the number of binary digits after the point in a centre, whose elements are
	// multiples of 2^-CentreBits.
	CentreBits = 16

	// The absolute values of a centre's elements are at most 2^CentreLimit. On a standardised
	// scale a larger mean can only be due to noise.
	CentreLimit = 8

	// MaxCentre is the largest absolute value of a centre's element, in units of 2^-CentreBits.
	MaxCentre = 1 << (CentreLimit + CentreBits)
)

// Coordinates are the coordinates in which changes of natural parameters are clipped and sent.
// These coordinates are the natural parameters of θ or, if the coordinates are centred, the natural
// parameters of θ − c. The public centre c is the mean of q at the time of the plan.
type Coordinates struct {
	family  gaussian.Family
	entries [][2]int // row and column of each element of the precision; nil if the precision is diagonal
	centred bool
}

// NewCoordinates returns coordinates for the natural parameters of a family. The coordinates have a
// centre if centred is true.
func NewCoordinates(family gaussian.Family, centred bool) *Coordinates {
	c := &Coordinates{family: family, centred: centred}
	if !gaussian.Independent(family) {
		c.entries = family.Precision()
	}
	return c
}

// Centred reports whether the coordinates have a centre.
func (c *Coordinates) Centred() bool { return c.centred }

// CentreSize returns the number of elements of the centre of the coordinates. It is 0 if the
// coordinates have no centre.
func (c *Coordinates) CentreSize() int {
	if !c.centred {
		return 0
	}
	return c.family.Dim()
}

// CheckCentre returns an error if the centre has a wrong length or an element beyond [MaxCentre].
// It accepts all other centres, because a wrong centre does not affect privacy: the centre is
// public, and it only determines the coordinates in which a change is clipped.
func (c *Coordinates) CheckCentre(centre []int64) error {
	if want := c.CentreSize(); len(centre) != want {
		return fmt.Errorf("the centre has %d elements, want %d", len(centre), want)
	}
	for i, x := range centre {
		if x > MaxCentre || x < -MaxCentre {
			return fmt.Errorf("element %d of the centre is beyond its limit", i+1)
		}
	}
	return nil
}

// RoundCentre rounds each element of mean to a multiple of 2^-CentreBits, limits its absolute value
// to 2^CentreLimit, and writes it to dst in units of 2^-CentreBits.
func RoundCentre(dst []int64, mean []float64) {
	for i, m := range mean {
		dst[i] = int64(math.Round(min(max(m*(1<<CentreBits), -MaxCentre), MaxCentre)))
	}
}

// Precisions returns the number of elements of the precision.
func (c *Coordinates) Precisions() int { return c.family.Size() - c.family.Dim() }

// Entry returns the row i and the column j of element k of the precision.
func (c *Coordinates) Entry(k int) (i, j int) {
	if c.entries == nil {
		return k, k
	}
	return c.entries[k][0], c.entries[k][1]
}

// FromNatural converts natural parameters (h, Λ) to these coordinates. If the coordinates have a
// centre c, it subtracts Λc from h. In coordinates around the posterior's mean, the h of a
// client's Gaussian likelihood is small, however large the mean is. A smaller clip is then enough,
// and noise in Λ does not move the mean.
func (c *Coordinates) FromNatural(nat []float64, centre []int64) {
	if !c.centred {
		return
	}
	d := len(centre)
	for k := range c.Precisions() {
		i, j := c.Entry(k)
		precision := math.Ldexp(nat[d+k], -CentreBits)
		nat[i] -= precision * float64(centre[j])
		if i != j {
			nat[j] -= precision * float64(centre[i])
		}
	}
}

// Move adds alpha times change to lambda. change is in lattice steps, in the coordinates around
// centre. The conversion from centred coordinates adds Λc to h. It is exact, because every element
// of c is a multiple of 2^-CentreBits.
func (c *Coordinates) Move(lambda []Wide, change []int64, alpha int64, centre []int64) {
	if !c.centred {
		for i, n := range change {
			lambda[i] = lambda[i].Add(Product(n, alpha))
		}
		return
	}
	for i, n := range change {
		lambda[i] = lambda[i].Add(Product(n, alpha<<CentreBits))
	}
	d := len(centre)
	for k := range c.Precisions() {
		i, j := c.Entry(k)
		lambda[i] = lambda[i].Add(Product(change[d+k], alpha*centre[j]))
		if i != j {
			lambda[j] = lambda[j].Add(Product(change[d+k], alpha*centre[i]))
		}
	}
}
