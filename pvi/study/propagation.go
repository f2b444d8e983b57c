package study

// Improper says what stands in for a factor that noise has made one that no likelihood
// has.
type Improper string

const (
	// Project: the nearest one that a likelihood could have.
	Project Improper = "project"
	// Reject: the last one that was proper. The step is paid for all the same, and what it
	// released stays in the average.
	Reject Improper = "reject"
)
