package method

import (
	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// A View is an observer for whom the privacy cost of a study is stated. Shares is the number of
// noise shares in a sum that the observer cannot subtract.
type View struct {
	Name   string // one of the constants below
	Who    string // description of the observer in words
	Shares int
}

// These are the names of observers.
const (
	Coalition        = "coalition"         // a coalition of as many clients as the study assumes
	Participant      = "participant"       // one other client
	Outsider         = "outside"           // an observer that adds no noise
	LargestCoalition = "largest-coalition" // the coordinator with more colluding clients than the study assumes
	Coordinator      = "coordinator"       // a coordinator that can open single messages, alone or with clients
	Anyone           = "anyone"            // an observer of every message, where anyone may read messages
)

// Trusted reports whether the study trusts this observer, so that the privacy target does not apply
// to it.
func (v View) Trusted() bool { return v.Name == Coordinator || v.Name == LargestCoalition }

// Strongest returns the cost for the strongest observer that the study does not trust, under the
// adjacency of the first cost. costs must not be empty.
func Strongest(costs []Cost) Cost {
	strongest := costs[0]
	for _, c := range costs {
		if !c.View.Trusted() && c.Adjacency == costs[0].Adjacency && c.Epsilon > strongest.Epsilon {
			strongest = c
		}
	}
	return strongest
}

// A Cost is the privacy loss of a client's releases for one observer and one adjacency.
type Cost struct {
	View      View
	Adjacency accountant.Adjacency
	Mu        float64 // μ of an equivalent Gaussian release, or 0 if there is none
	Epsilon   float64 // ε at the given Delta
	Delta     float64
	Method    string // name of the numerical method that computed ε
}

// PublishedFactors and PublishedSampling name the two ways to run an algorithm exactly as published
// although its privacy claim does not hold.
const (
	PublishedFactors  = "factors"  // a client's factor contains its own noise, which is too small to hide the client; see [study.Published]
	PublishedSampling = "sampling" // batches have a fixed size but are charged as Poisson batches; see [study.PublishedSampling]
)

// Unsound is implemented by methods that run a published algorithm whose releases cost more than
// was claimed. They are for simulations. Event and Increment return the proved cost.
type Unsound interface {
	Method

	// Published returns [PublishedFactors] or [PublishedSampling].
	Published() string

	// Claim returns the cost that the publication claims. Event returns the proved cost.
	Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Proved returns how many of the noise shares that the observer cannot subtract are proved to
	// hide a release.
	Proved(shares int) int

	// Truth returns the true cost for an outsider, or a lower bound on it.
	Truth(Estimates) Cost
}

// Estimates holds the numbers from which [Unsound].Truth computes the true cost.
type Estimates struct {
	Claimed, Proved Cost
	Lower           float64 // lower bound on the ε of the releases; Proved has the upper bound
	Scale           float64 // μ of the scale phase; 0 if there is none
	Releases        int
}

// Claimed returns the cost that a method claims, which is the proved cost unless the method is
// [Unsound].
func Claimed(m Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if u, ok := m.(Unsound); ok {
		return u.Claim(shares, adjacency, releases)
	}
	return m.Event(shares, adjacency, releases)
}

// Adjacencies returns the adjacencies under which the cost is known, the study's own first.
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
