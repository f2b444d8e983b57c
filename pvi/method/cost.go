package method

import (
	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// A View is an observer for whom the privacy cost of a study is reported. Shares is the number of
// noise shares in a sum that the observer cannot subtract.
type View struct {
	Name   string // one of the constants below
	Who    string // description of the observer for readers
	Shares int
}

// These are the names of the observers.
const (
	Coalition        = "coalition"         // a coalition of clients, as large as the study allows for
	Participant      = "participant"       // one other client
	Outsider         = "outside"           // an observer who does not take part
	LargestCoalition = "largest-coalition" // the coordinator together with more colluding clients than the study allows for
	Coordinator      = "coordinator"       // a coordinator who can open single messages, alone or with the help of clients
	Anyone           = "anyone"            // an observer who sees every message, in a study where anyone may read messages
)

// Trusted reports whether the study trusts this observer, in which case the privacy target does not
// apply to it.
func (v View) Trusted() bool { return v.Name == Coordinator || v.Name == LargestCoalition }

// Strongest returns the cost for the strongest observer that the study does not trust. The
// adjacency is that of the first cost. costs must not be empty.
func Strongest(costs []Cost) Cost {
	strongest := costs[0]
	for _, c := range costs {
		if !c.View.Trusted() && c.Adjacency == costs[0].Adjacency && c.Epsilon > strongest.Epsilon {
			strongest = c
		}
	}
	return strongest
}

// A Cost is the privacy loss that a client's releases cause, for one observer and one adjacency.
type Cost struct {
	View      View
	Adjacency accountant.Adjacency
	Mu        float64 // μ of an equivalent Gaussian release, or 0 if there is none
	Epsilon   float64 // ε at the given Delta
	Delta     float64
	Method    string // name of the numerical method that computed ε
}

// PublishedFactors and PublishedSampling are two ways to run an algorithm exactly as it was
// published, although its privacy claim is wrong.
const (
	PublishedFactors  = "factors"  // a client's factor contains the client's own noise, which is too little to hide the client; see [study.Published]
	PublishedSampling = "sampling" // batches have a fixed size, but the cost is that of Poisson batches; see [study.PublishedSampling]
)

// Unsound is implemented by methods that run a published algorithm whose true cost is higher than
// its authors claimed. They are meant for simulations. Event and Increment return the cost that can
// be proved.
type Unsound interface {
	Method

	// Published returns [PublishedFactors] or [PublishedSampling].
	Published() string

	// Claim returns the cost that the authors claim. Event returns the cost that can be proved.
	Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Proved returns the number of noise shares for which the privacy proof holds, out of those that
	// the observer cannot subtract.
	Proved(shares int) int

	// Truth returns the true cost for an outsider, or a lower bound on it.
	Truth(Estimates) Cost
}

// Estimates holds the numbers that [Unsound].Truth needs to compute the true cost.
type Estimates struct {
	Claimed, Proved Cost
	Lower           float64 // lower bound on the ε of the releases; the upper bound is in Proved
	Scale           float64 // μ of the scale phase; 0 if there is none
	Releases        int
}

// Claimed returns the cost that a method claims. Unless the method is [Unsound], this is the cost
// that can be proved.
func Claimed(m Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if u, ok := m.(Unsound); ok {
		return u.Claim(shares, adjacency, releases)
	}
	return m.Event(shares, adjacency, releases)
}

// Adjacencies returns the adjacencies for which the cost is known, beginning with the study's own.
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
