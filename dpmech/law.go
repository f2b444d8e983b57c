package dpmech

import "fedpvi/accountant"

// A Law is the distribution of the noise that a [Sum] adds to one element, together with the cost
// of this noise. The noise is an integer, in lattice steps.
type Law interface {
	// Fill sets every element of dst to an independent sample. The sampler must be exact: no
	// decision may depend on the rounding of a float.
	Fill(dst []int64, src *Stream)

	// Bound returns the largest possible absolute value of a sample.
	Bound() int64

	// Mass returns the probability that a sample is k. Tests and audits compare Fill and Event with
	// it.
	Mass(k int64) float64

	// Event returns the cost of releasing an integer vector with dim elements. The noise of every
	// element is the sum of shares independent samples. sensitivity is the largest L2 distance
	// between the vectors of adjacent inputs, in lattice steps. The cost must be valid for vectors
	// that differ in several elements, and must take into account that samples are bounded. The
	// comment of the method contains the proof. If only an (ε, δ) is proved for the noise, return
	// an [accountant.Approximate].
	Event(sensitivity float64, shares, dim int, adjacency accountant.Adjacency) accountant.Event
}

// A Family makes laws of one kind of noise, such as the Gaussian, for any standard deviation.
// [NewSum] takes a Family and returns a sum with noise of this kind.
type Family struct {
	Name string

	// New returns the law of noise with the standard deviation sd, or with a slightly larger one.
	// The shape of a law may depend on sensitivity, the largest distance between the sums of
	// adjacent inputs. sd and sensitivity are in lattice steps.
	New func(sd int64, sensitivity float64) (Law, error)
}

var gaussian = Family{"Gaussian", func(sd int64, _ float64) (Law, error) { return NewDiscreteGaussian(sd) }}

// Families lists all families. The tests of this package, the audit (package sim/audit) and the
// planted faults (tools/plant) cover every family in this list.
var Families = []Family{gaussian}
