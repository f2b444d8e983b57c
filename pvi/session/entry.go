package session

// A Kind states whether an entry is a plan or an outcome, and of which phase.
type Kind string

// Kinds of entries, in the order of the phases.
const (
	ScalePlan      Kind = "scale-plan"
	ScaleOutcome   Kind = "scale-outcome"
	Plan           Kind = "plan"
	Outcome        Kind = "outcome"
	OneStepPlan    Kind = "one-step-plan"
	OneStepOutcome Kind = "one-step-outcome"
)

// An Entry is a message of the coordinator to all clients: a plan or an outcome. Its body is a
// message of [fedpvi/pvi/wire], whose bytes must not be changed.
type Entry struct {
	Kind Kind   `json:"kind"`
	Plan int    `json:"ask"` // number of the plan over all phases, from 1
	Body []byte `json:"body"`
}
