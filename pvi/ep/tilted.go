package ep

import (
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// Tilted computes the sites of a client's records. A record's site is the Gaussian factor for which
// the cavity times the site has the same moments as the cavity times the record's likelihood
// (Minka, "A family of algorithms for approximate Bayesian inference", 2001).
//
// A site has Size numbers: first the precisions times means, around the cavity's mean, and then the
// precisions, multiplied by a public weight that balances the two parts under the clip. It depends
// only on one record and the cavity.
type Tilted interface {
	// Family returns the Gaussian family of the cavity.
	Family() gaussian.Family

	// Records returns the number of records, which may be private.
	Records() int

	// Size returns the length of a site.
	Size() int

	// Set sets the cavity for later calls to Site, and keeps the pointer.
	Set(cavity *solver.Approximation)

	// Site writes the site of a record to dst. If no Gaussian factor has the moments, some elements
	// are not finite.
	Site(dst []float64, record int)

	// Expand converts a sum of sites to natural parameters around the cavity's mean, and Compress
	// is its inverse.
	Expand(dst, sum []float64)
	Compress(dst, natural []float64)
}

// A Batcher computes the sites of many records faster than Site, with the same results.
type Batcher interface {
	// Sites writes the sites of the records to dst, one after another.
	Sites(dst []float64, records []uint32)
}

// A Public is a Tilted with an additional public factor, such as a non-Gaussian part of a prior.
// Its site is not clipped and gets no noise.
type Public interface {
	// AddPublic adds the site of the public factor to natural, around the cavity's mean.
	AddPublic(natural []float64)
}

// weighted implements the methods of [Tilted] that do not read records. The sites are natural
// parameters of the family, with precisions multiplied by weight.
type weighted struct {
	family gaussian.Family
	dim    int
	weight float64
	at     *solver.Approximation // the current cavity
}

func newWeighted(family gaussian.Family, weight float64) weighted {
	return weighted{family: family, dim: family.Dim(), weight: weight}
}

// Family implements [Tilted].
func (w *weighted) Family() gaussian.Family { return w.family }

// Size implements [Tilted].
func (w *weighted) Size() int { return w.family.Size() }

// Set implements [Tilted].
func (w *weighted) Set(cavity *solver.Approximation) { w.at = cavity }

// Expand implements [Tilted].
func (w *weighted) Expand(dst, sum []float64) {
	copy(dst, sum)
	for i := w.dim; i < len(dst); i++ {
		dst[i] /= w.weight
	}
}

// Compress implements [Tilted].
func (w *weighted) Compress(dst, natural []float64) {
	copy(dst, natural)
	for i := w.dim; i < len(dst); i++ {
		dst[i] *= w.weight
	}
}
