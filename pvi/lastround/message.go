package lastround

import "fedpvi/pvi/phase"

// A Plan asks clients for the release of the last round. Its slices must not
// be changed.
type Plan struct {
	Round phase.Digest // of the protocol and the final λ
	Point []float64    // θ̃, the mean of the final q
}

// A Release is a client's noised gradient and curvature, in lattice steps.
// It passed the gate: the observers that the study names may read it.
type Release struct {
	Round     phase.Digest
	Client    phase.ClientID
	Gradient  []int64
	Curvature []int64 // packed
}

// An Outcome ends the last round, [phase.Accepted] or [phase.Void]. Privacy is spent
// either way.
type Outcome struct {
	Round        phase.Digest     `json:"-"`
	Verdict      phase.Verdict    `json:"verdict"`
	Point        []float64        `json:"point"`
	Participants []phase.ClientID `json:"participants"` // whose releases are in the sums, in order
	Gradient     []int64          `json:"gradient"`     // in lattice steps; nil if void
	Curvature    []int64          `json:"curvature"`    // packed, in lattice steps; nil if void
}
