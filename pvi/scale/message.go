package scale

import (
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Plan is the coordinator's request to all clients for a release. Its slices must not be
// changed.
type Plan struct {
	Scaling phase.Digest
	Number  int            // number of the pass, from 1
	Bounds  []study.Bounds // bounds of every column, to which values are clamped in this pass
}

// A Release is a client's noisy sum, in lattice steps. The study states which observers can read
// it.
type Release struct {
	Scaling phase.Digest
	Number  int // number of the pass
	Client  phase.ClientID
	Sum     []int64
}

// An Outcome ends a pass. Its verdict is [phase.Accepted] or [phase.Void]. With either verdict, the
// clients have spent privacy.
type Outcome struct {
	Scaling      phase.Digest     `json:"-"`
	Number       int              `json:"pass"`
	Verdict      phase.Verdict    `json:"verdict"`
	Participants []phase.ClientID `json:"participants"` // clients whose releases are in Sum, in the order of the roster
	Sum          []int64          `json:"sum"`          // sum of releases, in lattice steps; nil if void
	// Releases are the releases of the participants, one after the other, if the study publishes
	// them.
	Releases []int64 `json:"releases,omitempty"`
}
