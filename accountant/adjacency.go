package accountant

import "fmt"

// Adjacency is a relation between inputs. If a release is (ε, δ)-private under an adjacency,
// adjacent inputs are hard to tell apart.
type Adjacency string

const (
	// AddRemove relates two inputs if one of them has one record more. The number of records is
	// private.
	AddRemove Adjacency = "add-remove"

	// ReplaceOne relates inputs that differ in one record, or in one client's whole shard. The
	// number of records, or the client roster, is public.
	ReplaceOne Adjacency = "replace-one"

	// ZeroOut relates an input to the same input in which all contributions of one client are zero.
	// The client still takes part and sends its noise. The roster is public.
	//
	// This is different from a client that has no records, because its contribution need not be
	// zero. Adding or removing a client is not an adjacency, because it would change the number of
	// noise shares.
	ZeroOut Adjacency = "zero-out"
)

// Check returns an error if a is not one of the three adjacencies.
func (a Adjacency) Check() error {
	switch a {
	case AddRemove, ReplaceOne, ZeroOut:
		return nil
	}
	return fmt.Errorf("unknown adjacency %q: use %q, %q or %q", string(a), AddRemove, ReplaceOne, ZeroOut)
}

// Factor returns the L2 sensitivity of a sum of vectors whose norm is at most 1. It is 2 under
// ReplaceOne, because a vector may be replaced by its opposite. Otherwise it is 1.
func (a Adjacency) Factor() float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}
