package lambda

import (
	"fmt"
	"math"

	"fedpvi/pvi/gaussian"
)

const (
	// CentreBits is the number of binary digits after the point in a centre.
	CentreBits = 16

	// CentreLimit bounds the elements of a centre by 2^CentreLimit. On a standardised scale only
	// noise makes a mean larger.
	CentreLimit = 8

	// MaxCentre is the largest absolute value of an element, in units of 2^-CentreBits.
	MaxCentre = 1 << (CentreLimit + CentreBits)
)

// Coordinates are the coordinates in which changes of natural parameters are clipped and sent:
// those of θ or, if centred, of θ − c. The public centre c is the mean of q at the time of the
// plan.
type Coordinates struct {
	family  gaussian.Family
	entries [][2]int // row and column of each element of the precision; nil if diagonal
	centred bool
}

// NewCoordinates returns coordinates for a family, with a centre if centred is true.
func NewCoordinates(family gaussian.Family, centred bool) *Coordinates {
	c := &Coordinates{family: family, centred: centred}
	if !gaussian.Independent(family) {
		c.entries = family.Precision()
	}
	return c
}

// Centred reports whether the coordinates have a centre.
func (c *Coordinates) Centred() bool { return c.centred }

// CentreSize returns the number of elements of the centre, or 0 if there is none.
func (c *Coordinates) CentreSize() int {
	if !c.centred {
		return 0
	}
	return c.family.Dim()
}

// CheckCentre returns an error if the centre has a wrong length or an element beyond [MaxCentre].
// Any other centre is safe: it is public, and only determines the coordinates in which a change is
// clipped.
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

// RoundCentre writes mean to dst in units of 2^-CentreBits, rounded and limited to MaxCentre.
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

// FromNatural converts natural parameters (h, Λ) to these coordinates: it subtracts Λc from h if
// there is a centre c. Around the posterior's mean, the h of a client's Gaussian likelihood is
// small, so a smaller clip is enough, and noise in Λ does not move the mean.
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
// centre. The conversion, which adds Λc to h, is exact, because c is a multiple of 2^-CentreBits.
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
