package pvi

import "fedpvi/pvi/study"

// A ScalePlan asks every client of a scaling for a release. Its slices must not be
// changed.
type ScalePlan struct {
	Scaling Digest
	Number  int            // of the pass, from 1
	Bounds  []study.Bounds // of every column, within which it is to be released
}

// A ScaleRelease is a client's noised sum, in lattice steps. It passed the gate: it
// may be read by whomever the study says.
type ScaleRelease struct {
	Scaling Digest
	Number  int // of the pass
	Client  ClientID
	Sum     []int64
}

// A ScaleOutcome ends a pass, [Accepted] or [Void]. Privacy is spent either way.
type ScaleOutcome struct {
	Scaling      Digest     `json:"-"`
	Number       int        `json:"pass"`
	Verdict      Verdict    `json:"verdict"`
	Participants []ClientID `json:"participants"` // whose releases are in Sum, in order
	Sum          []int64    `json:"sum"`          // in lattice steps; nil if void
}
