package pvi

import "fedpvi/pvi/phase"

// Types that all phases of a study share.
type (
	Digest  = phase.Digest
	Verdict = phase.Verdict
	Refused = phase.Refused
)

// The verdicts on a plan.
const (
	Accepted = phase.Accepted
	Rejected = phase.Rejected
	Void     = phase.Void
)

// A Plan is the coordinator's request to clients for a release. Its slices must not be changed.
type Plan struct {
	Protocol     Digest
	Number       int        // of the plan, from 1
	Lambda       []Wide     // λ − λ_prior, on the lattice
	Centre       []int64    // of clipping coordinates, in units of 2^-16; nil if they are not centred
	Participants []ClientID // the clients that are to answer, in order
}

// A Release is the change of its factor that a client proposes, in lattice
// steps. It passed the gate: the observers that the
// study names may read it.
type Release struct {
	Protocol Digest
	Number   int // of the plan that it answers
	Client   ClientID
	Change   []int64
}

// An Outcome ends a round. Privacy is spent whatever the verdict. Its slices must
// not be changed.
type Outcome struct {
	Protocol     Digest
	Sequence     int // 1 for the first outcome of a study, and so on
	Number       int // of the plan
	Verdict      Verdict
	Centre       []int64    // of the plan
	Participants []ClientID // whose changes are in Sum, in order
	Sum          []int64    // in lattice steps; nil if void
}

func refuse(format string, args ...any) error { return phase.Refuse(format, args...) }
