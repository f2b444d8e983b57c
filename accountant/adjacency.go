package accountant

import "fmt"

// Adjacency names the pairs of inputs that a release must make hard to tell apart. A
// guarantee (ε, δ) holds for every such pair.
type Adjacency string

const (
	// AddRemove: the inputs differ by one record that is in one and not in the other. The
	// number of records is private.
	AddRemove Adjacency = "add-remove"

	// ReplaceOne: one record, or the whole shard of one client, is replaced by any other.
	// The number of records, or the roster, is public.
	ReplaceOne Adjacency = "replace-one"

	// ZeroOut: the contributions of one client count as zero, while the client still
	// takes part and sends its noise. The roster is public.
	//
	// Adding or removing a client is not an adjacency here, because it would change the
	// number of noise shares. ZeroOut does not cover a client without records, because
	// the contribution of such a client need not be zero. ReplaceOne covers it.
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

// Factor returns the L2 sensitivity, in units of the clip norm C, of a sum of vectors of
// norm at most C: 1 if a vector can be added or removed, 2 if it can be replaced by its
// opposite.
func (a Adjacency) Factor() float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}
