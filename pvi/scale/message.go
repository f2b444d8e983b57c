package scale

import (
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Plan asks every client of a scaling for a release. Its slices must not be
// changed.
type Plan struct {
	Scaling phase.Digest
	Number  int            // of the pass, from 1
	Bounds  []study.Bounds // of every column, within which it is to be released
}

// A Release is a client's noised sum, in lattice steps. It passed the gate: the
// observers that the study names may read it.
type Release struct {
	Scaling phase.Digest
	Number  int // of the pass
	Client  phase.ClientID
	Sum     []int64
}

// An Outcome ends a pass, [phase.Accepted] or [phase.Void]. Privacy is spent either way.
type Outcome struct {
	Scaling      phase.Digest     `json:"-"`
	Number       int              `json:"pass"`
	Verdict      phase.Verdict    `json:"verdict"`
	Participants []phase.ClientID `json:"participants"` // whose releases are in Sum, in order
	Sum          []int64          `json:"sum"`          // in lattice steps; nil if void
}
