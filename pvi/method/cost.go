package method

import (
	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// A View is an observer for whom the privacy cost of a study is stated. Shares is the number of
// noise shares in a sum that the observer does not know and therefore cannot subtract.
type View struct {
	Name   string // name of the observer: one of the constants below, such as Coalition
	Who    string // description of the observer in words
	Shares int
}

// These are the names of observers.
const (
	Coalition        = "coalition"         // a coalition of as many colluding clients as the study assumes
	Participant      = "participant"       // one other client
	Outsider         = "outside"           // an observer that adds no noise
	LargestCoalition = "largest-coalition" // the coordinator together with more colluding clients than the study assumes
	Coordinator      = "coordinator"       // a coordinator that can open single messages, alone or with clients
	Anyone           = "anyone"            // an observer that reads every single message; only for studies in which anyone may read them
)

// Trusted reports whether the study trusts this observer. The privacy target is for the other
// observers only.
func (v View) Trusted() bool { return v.Name == Coordinator || v.Name == LargestCoalition }

// Strongest returns the cost for the strongest observer that the study does not trust. It compares
// the costs under the adjacency of the first cost. costs must not be empty.
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
	Mu        float64 // μ of an equivalent Gaussian release; 0 if there is no such release, for example with random batches
	Epsilon   float64 // ε at the given Delta
	Delta     float64
	Method    string // name of the numerical method that computed ε
}

// PublishedFactors and PublishedSampling name the two ways in which a study can run an algorithm
// exactly as it was published, although the privacy claim of the publication does not hold.
const (
	PublishedFactors  = "factors"  // a client's factor contains the client's own noise, which is too small to hide a client; only a sum over clients has enough noise; see [study.Published]
	PublishedSampling = "sampling" // batches have a fixed size, but the claimed cost is the cost of Poisson batches; see [study.PublishedSampling]
)

// Unsound is implemented by methods that run a published algorithm although its releases cost more
// than the publication claims. Such methods are for simulations. Their Event and Increment return
// the proved cost.
type Unsound interface {
	Method

	// Published returns [PublishedFactors] or [PublishedSampling].
	Published() string

	// Claim returns the cost that the publication claims. Event returns the proved cost.
	Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Proved returns how many of the noise shares are proved to hide a release. shares is the
	// number of noise shares that the observer cannot subtract.
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

// Claimed returns the cost that a method claims. For a method that is not [Unsound], this cost is
// the proved cost.
func Claimed(m Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if u, ok := m.(Unsound); ok {
		return u.Claim(shares, adjacency, releases)
	}
	return m.Event(shares, adjacency, releases)
}

// Adjacencies returns the adjacency of the study, followed by the other adjacency under which
// the cost is known.
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
