package session

// A Kind says whether an entry is a plan or an outcome, and which phase it belongs to.
type Kind string

// The kinds of entries are listed in the order of the phases.
const (
	ScalePlan      Kind = "scale-plan"
	ScaleOutcome   Kind = "scale-outcome"
	Plan           Kind = "plan"
	Outcome        Kind = "outcome"
	OneStepPlan    Kind = "one-step-plan"
	OneStepOutcome Kind = "one-step-outcome"
)

// An Entry is a message from the coordinator to all clients. It is either a plan or an outcome. Its
// body is a message of [fedpvi/pvi/wire], and the bytes must not be changed.
type Entry struct {
	Kind Kind   `json:"kind"`
	Plan int    `json:"ask"` // number of the plan, counted from 1 over all phases
	Body []byte `json:"body"`
}
