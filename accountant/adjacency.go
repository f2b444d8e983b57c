package accountant

import "fmt"

// Adjacency is a relation between inputs. A release that is (ε, δ)-private under an adjacency makes
// adjacent inputs hard to distinguish.
type Adjacency string

const (
	// AddRemove relates two inputs if one has one record more than the other. The number of records
	// is private.
	AddRemove Adjacency = "add-remove"

	// ReplaceOne relates inputs that differ in one record, or in the whole shard of one client.
	// The number of records, or the roster of clients, is public.
	ReplaceOne Adjacency = "replace-one"

	// ZeroOut relates an input to the same input with the contributions of one client set to zero.
	// The client still takes part and sends its noise. The roster is public.
	//
	// This differs from a client without records, whose contribution need not be zero. Adding or
	// removing a client is not an adjacency, because it would change the number of noise shares.
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

// Factor returns the L2 sensitivity of a sum of vectors of norm at most 1. It is 2 under
// ReplaceOne, because a vector can be replaced with its opposite, and 1 otherwise.
func (a Adjacency) Factor() float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}
