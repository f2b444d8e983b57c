package pvi

// A OneStepPlan asks clients for the release of the last round. Its slices must not
// be changed.
type OneStepPlan struct {
	Round Digest    // of the protocol and the final λ
	Point []float64 // θ̃, the mean of the final q
}

// A OneStepRelease is a client's noised gradient and curvature, in lattice steps.
// It passed the gate: it may be read by whomever the study says.
type OneStepRelease struct {
	Round     Digest
	Client    ClientID
	Gradient  []int64
	Curvature []int64 // packed
}

// A OneStepOutcome ends the last round, [Accepted] or [Void]. Privacy is spent
// either way.
type OneStepOutcome struct {
	Round        Digest     `json:"-"`
	Verdict      Verdict    `json:"verdict"`
	Point        []float64  `json:"point"`
	Participants []ClientID `json:"participants"` // whose releases are in the sums, in order
	Gradient     []int64    `json:"gradient"`     // in lattice steps; nil if void
	Curvature    []int64    `json:"curvature"`    // packed, in lattice steps; nil if void
}
