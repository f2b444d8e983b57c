package ep

import (
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// A Tilted is the records of a client as expectation propagation sees them: each turns a
// cavity into its tilted distribution, the cavity times the record's likelihood, whose
// moments a Gaussian matches. Its site is what takes the cavity to that Gaussian (Minka,
// "A family of algorithms for approximate Bayesian inference", 2001).
//
// A site is a vector of Size numbers: precision times mean for every coordinate of θ, in
// coordinates around the cavity's mean, then the precision, times a public weight. It is
// a function of the cavity and of one record alone.
type Tilted interface {
	// Family is that of the cavity.
	Family() gaussian.Family

	// Records is their number, which may be private.
	Records() int

	// Size is the length of a site.
	Size() int

	// Set is called before records are matched against another cavity, which it keeps.
	Set(cavity *solver.Approximation)

	// Site writes the site of a record to dst. Where the match fails, numbers are not
	// finite.
	Site(dst []float64, record int)

	// Expand writes to dst the natural parameters, around the cavity's mean, that a sum
	// of sites stands for; Compress is its inverse for what Expand can write.
	Expand(dst, sum []float64)
	Compress(dst, natural []float64)
}

// A Fetcher can be told which records come next, to have them at hand: a batch is spread all
// over the memory, and reading from several places at a time takes as long as from one.
type Fetcher interface {
	Fetch(records []uint32)
}

// A Batcher matches many records in less time than one after another, with the same sites.
type Batcher interface {
	// Sites writes the sites of records to dst, one after another.
	Sites(dst []float64, records []uint32)
}

// A Public knows a factor of the posterior that no record has part in, such as what a prior
// says beyond a Gaussian: it is matched like a record, but neither clipped nor hidden.
type Public interface {
	// AddPublic adds the factor's site, in natural parameters around the cavity's mean.
	AddPublic(natural []float64)
}

// weighted is Expand and Compress for sites that are natural parameters of the family,
// with the precision times a weight.
type weighted struct {
	dim    int
	weight float64
}

func (w weighted) Expand(dst, sum []float64) {
	copy(dst, sum)
	for i := w.dim; i < len(dst); i++ {
		dst[i] /= w.weight
	}
}

func (w weighted) Compress(dst, natural []float64) {
	copy(dst, natural)
	for i := w.dim; i < len(dst); i++ {
		dst[i] *= w.weight
	}
}
