package pvi

import (
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/phase"
)

// These types are declared in package phase because all phases of a study use them.
type (
	Digest  = phase.Digest
	Verdict = phase.Verdict
	Refused = phase.Refused
	Fetch   = phase.Fetch
)

// A Wide is a 128-bit integer, such as an element of λ in lattice units.
type Wide = lambda.Wide

// These are the verdicts of an outcome.
const (
	Accepted = phase.Accepted
	Rejected = phase.Rejected
	Void     = phase.Void
)

// A Plan is the message in which the coordinator asks clients for a release. Its slices must not be
// changed.
type Plan struct {
	Protocol Digest
	Number   int // number of the plan, from 1
	// Lambda is λ − λ_prior in lattice units, where λ and λ_prior are the natural parameters of q and
	// of the prior.
	Lambda       []Wide
	Centre       []int64    // point around which changes are clipped, in units of 2^-16; nil if coordinates are not centred
	Participants []ClientID // clients that must answer, in the order of the roster
}

// A Release holds the numbers that a client releases for a plan, in lattice steps. Their meaning
// depends on the method.
type Release struct {
	Protocol Digest
	Number   int // number of the plan
	Client   ClientID
	Change   []int64
}

// An Outcome ends a round. Even a rejected or void one costs privacy. Its slices must not be
// changed.
type Outcome struct {
	Protocol     Digest
	Sequence     int // position among the outcomes of the study, from 1
	Number       int // number of the plan
	Verdict      Verdict
	Centre       []int64    // centre of the coordinates that the plan used
	Participants []ClientID // clients whose releases are in Sum, in the order of the roster
	Sum          []int64    // sum of the releases in lattice steps; nil if the outcome is void
	Releases     []int64    // releases of the participants, one after the other, if the study publishes them
}

func refuse(format string, args ...any) error { return phase.Refuse(format, args...) }
