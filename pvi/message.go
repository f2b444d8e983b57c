package pvi

import (
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/phase"
)

// These types are declared in package phase, because all phases of a study use them.
type (
	Digest  = phase.Digest
	Verdict = phase.Verdict
	Refused = phase.Refused
	Fetch   = phase.Fetch
)

// A Wide is a 128-bit integer: an element of λ, in units of the lattice.
type Wide = lambda.Wide

// These are the verdicts of an outcome.
const (
	Accepted = phase.Accepted
	Rejected = phase.Rejected
	Void     = phase.Void
)

// A Plan is the coordinator's request to clients for a release. Its slices must not be changed.
type Plan struct {
	Protocol Digest
	Number   int // number of the plan, from 1
	// Lambda is λ − λ_prior in units of the lattice, where λ and λ_prior are the natural parameters
	// of q and of the prior.
	Lambda       []Wide
	Centre       []int64    // point around which changes are clipped, in units of 2^-16; nil if there is none
	Participants []ClientID // clients that must answer, in the order of the roster
}

// A Release holds the numbers that a client releases for a plan, in lattice steps. The method
// defines them.
type Release struct {
	Protocol Digest
	Number   int // number of the plan
	Client   ClientID
	Change   []int64
}

// An Outcome ends a round. Rejected and void outcomes cost privacy as well. The slices must not be
// changed.
type Outcome struct {
	Protocol     Digest
	Sequence     int // position among the study's outcomes, from 1
	Number       int // number of the plan
	Verdict      Verdict
	Centre       []int64    // centre of the coordinates in the plan
	Participants []ClientID // clients whose releases are in Sum, in the order of the roster
	Sum          []int64    // sum of releases, in lattice steps; nil if void
	Releases     []int64    // releases of the participants, one after the other, if the study publishes them
}

func refuse(format string, args ...any) error { return phase.Refuse(format, args...) }
