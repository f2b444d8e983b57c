package lastround

import "fedpvi/pvi/phase"

// A Plan is the coordinator's request for the releases of the last round. Its slices must not be
// changed.
type Plan struct {
	Round phase.Digest // digest of the protocol and, if λ is exact, of the final λ
	Point []float64    // θ̃, the mean of the final q
}

// A Release is a client's noisy gradient and curvature, in lattice steps.
type Release struct {
	Round     phase.Digest
	Client    phase.ClientID
	Gradient  []int64
	Curvature []int64 // sum of information matrices, packed (see package onestep)
}

// An Outcome ends the last round. Its verdict is [phase.Accepted] or [phase.Void]. Both cost
// privacy.
type Outcome struct {
	Round        phase.Digest     `json:"-"`
	Verdict      phase.Verdict    `json:"verdict"`
	Point        []float64        `json:"point"`
	Participants []phase.ClientID `json:"participants"` // clients in the sums, in the order of the roster
	Gradient     []int64          `json:"gradient"`     // sum of gradients, in lattice steps; nil if void
	Curvature    []int64          `json:"curvature"`    // sum of curvatures, packed, in lattice steps; nil if void
	// Releases are the gradient and curvature of each participant, if the study publishes them.
	Releases []int64 `json:"releases,omitempty"`
}
