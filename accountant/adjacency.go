package accountant

import "fmt"

// Adjacency says which two inputs a release must make hard to tell apart, and
// with it what ε is a statement about.
type Adjacency string

const (
	// AddRemove: one record is there or is not. The number of records is
	// private.
	AddRemove Adjacency = "add-remove"

	// ReplaceOne: one record, or one client's whole shard, is replaced by any
	// other. The number of records, or the roster, is public.
	ReplaceOne Adjacency = "replace-one"

	// ZeroOut: one client's contributions count as zero, while the client still
	// takes part and sends its noise. The roster is public. (Adding or
	// removing a client would change the number of noise shares too, and is
	// no adjacency here. A client with no records is another thing again:
	// what it contributes need not be zero, and ReplaceOne covers it.)
	ZeroOut Adjacency = "zero-out"
)

// Check returns an error if a is none of the adjacencies.
func (a Adjacency) Check() error {
	switch a {
	case AddRemove, ReplaceOne, ZeroOut:
		return nil
	}
	return fmt.Errorf("unknown adjacency %q: use %q, %q or %q", string(a), AddRemove, ReplaceOne, ZeroOut)
}

// Factor returns the sensitivity, in units of the clip norm C, of a sum of
// vectors of which each has norm at most C: 1 if a vector comes or goes, 2 if
// it may turn into its opposite.
func (a Adjacency) Factor() float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}
