package scale

import (
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Plan is the coordinator's request for a release. Its slices must not be changed.
type Plan struct {
	Scaling phase.Digest
	Number  int            // number of the pass, from 1
	Bounds  []study.Bounds // bounds to which the values of every column are clamped
}

// A Release is a client's noisy sum, in lattice steps.
type Release struct {
	Scaling phase.Digest
	Number  int // number of the pass
	Client  phase.ClientID
	Sum     []int64
}

// An Outcome ends a pass. Its verdict is [phase.Accepted] or [phase.Void]. Both cost privacy.
type Outcome struct {
	Scaling      phase.Digest     `json:"-"`
	Number       int              `json:"pass"`
	Verdict      phase.Verdict    `json:"verdict"`
	Participants []phase.ClientID `json:"participants"` // clients in Sum, in the order of the roster
	Sum          []int64          `json:"sum"`          // sum of releases, in lattice steps; nil if void
	// Releases are the releases of the participants, one after the other, if they are published.
	Releases []int64 `json:"releases,omitempty"`
}
