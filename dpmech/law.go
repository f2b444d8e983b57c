package dpmech

import "fedpvi/accountant"

// A Law is the distribution of the noise that a [Sum] adds to one element, together with the cost
// of this noise. The noise is an integer, in lattice steps.
type Law interface {
	// Fill sets each element of dst to an independent sample. The sampler must be exact: no
	// decision may depend on how a float is rounded.
	Fill(dst []int64, src *Stream)

	// Bound returns the largest possible absolute value of a sample.
	Bound() int64

	// Mass returns the probability of the sample k. Tests and audits compare Fill and Event with
	// it.
	Mass(k int64) float64

	// Event returns the cost of releasing an integer vector with dim elements. The noise of each
	// element is the sum of shares independent samples. sensitivity is the largest L2 distance
	// between the vectors of adjacent inputs, in lattice steps. The cost must be valid even if the
	// vectors differ in several elements, and it must account for the bound on samples. The proof
	// belongs in the comment of the method. If only an (ε, δ) is proved for the noise, return an
	// [accountant.Approximate].
	Event(sensitivity float64, shares, dim int, adjacency accountant.Adjacency) accountant.Event
}

// A Family makes laws of one kind of noise, such as the Gaussian, for any standard deviation.
// [NewSum] uses a Family to make a sum with this kind of noise.
type Family struct {
	Name string

	// New returns the law of noise whose standard deviation is sd or slightly more. The shape of
	// the law may depend on sensitivity, which is the largest distance between the sums of adjacent
	// inputs. Both are in lattice steps.
	New func(sd int64, sensitivity float64) (Law, error)
}

var gaussian = Family{"Gaussian", func(sd int64, _ float64) (Law, error) { return NewDiscreteGaussian(sd) }}

// Families lists all families. The tests in this package, the audit (package sim/audit) and the
// planted faults (tools/plant) cover all of them.
var Families = []Family{gaussian}
