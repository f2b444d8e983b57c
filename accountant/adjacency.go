package accountant

import "fmt"

// Adjacency is a relation between inputs. A release that satisfies (ε, δ) under an adjacency
// makes it hard to distinguish any two adjacent inputs.
type Adjacency string

const (
	// AddRemove relates two inputs if one of them has one record more than the other. The number
	// of records is private.
	AddRemove Adjacency = "add-remove"

	// ReplaceOne relates inputs that differ in one record, or in the whole shard of one client.
	// The number of records, or the roster of clients, is public.
	ReplaceOne Adjacency = "replace-one"

	// ZeroOut relates an input to the input in which the contributions of one client are zero. The
	// client still takes part and sends its noise. The roster is public.
	//
	// Adding or removing a client is not an adjacency here, because it would change the number of
	// noise shares. ZeroOut does not relate a client to the same client without records, because
	// the contribution of a client without records need not be zero. ReplaceOne relates the two.
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

// Factor returns the L2 sensitivity of a sum of vectors, divided by the maximum norm C of one
// vector. The factor is 1 if a vector can be added or removed, and 2 if a vector can be replaced
// with the opposite vector.
func (a Adjacency) Factor() float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}
