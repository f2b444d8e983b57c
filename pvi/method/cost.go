package method

import (
	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// A View is an observer, described by the number of a sum's noise shares that the observer does
// not know and so cannot subtract.
type View struct {
	Name   string // "coalition", "outside", "coordinator" or "anyone"
	Who    string // in words
	Shares int
}

// A Cost is the privacy that a client's releases cost against one observer under one
// adjacency.
type Cost struct {
	View      View
	Adjacency accountant.Adjacency
	Mu        float64 // of the Gaussian release that they are equivalent to; 0 if there is none, as with random batches
	Epsilon   float64 // at Delta
	Delta     float64
	Method    string // by which it was computed
}

// The parts of a study that may follow a publication although the publication's privacy claim
// does not hold.
const (
	PublishedFactors  = "factors"  // under a sum that alone is opened; see [study.Published]
	PublishedSampling = "sampling" // of batches; see [study.PublishedSampling]
)

// An Unsound method follows a publication although its releases cost more than the publication
// claims. It is for simulations. Its Event and Increment return the cost that can be proved.
type Unsound interface {
	Method

	// Published returns [PublishedFactors] or [PublishedSampling].
	Published() string

	// Claim returns the cost that the publication claims. Event returns the cost that can be
	// proved.
	Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Proved returns the number of noise shares that can be proved to hide a release from an
	// observer who does not know shares of them.
	Proved(shares int) int

	// Truth returns the true cost to an outsider, or a lower bound.
	Truth(Estimates) Cost
}

// Estimates holds the costs from which the method Truth of [Unsound] computes the true cost.
type Estimates struct {
	Claimed, Proved Cost
	Lower           float64 // lower bound on ε for the releases as they are accounted in Proved
	Scale           float64 // μ of finding the scale of columns before the rounds; 0 if it is known
	Releases        int
}

// Claimed returns the cost that is claimed for a method. The claim is true unless the method is
// [Unsound].
func Claimed(m Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if u, ok := m.(Unsound); ok {
		return u.Claim(shares, adjacency, releases)
	}
	return m.Event(shares, adjacency, releases)
}

// Adjacencies returns the adjacency of the study, and a second adjacency under which the same
// releases have a different cost.
func (s *Setting) Adjacencies() []accountant.Adjacency {
	own := s.Study.Privacy.Adjacency
	switch {
	case own != accountant.ReplaceOne:
		return []accountant.Adjacency{own, accountant.ReplaceOne}
	case s.Study.Privacy.Unit == study.Client:
		return []accountant.Adjacency{own, accountant.ZeroOut}
	default:
		return []accountant.Adjacency{own, accountant.AddRemove}
	}
}
