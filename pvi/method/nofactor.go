package method

import "errors"

// NoFactor is embedded in a [Client] that has no factor. The only state it saves is the number of
// releases.
type NoFactor struct{ spent Spent }

// Count counts a release. It must be called before the release is made.
func (n *NoFactor) Count() { n.spent.Statistics++ }

// Follow implements [Client]. It does nothing.
func (n *NoFactor) Follow(int64, []int64) {}

// Spent implements [Client].
func (n *NoFactor) Spent() Spent { return n.spent }

// Ahead implements [Client].
func (n *NoFactor) Ahead() int { return 1 }

// Reuses implements [Client].
func (n *NoFactor) Reuses() bool { return false }

// Save implements [Client].
func (n *NoFactor) Save(m *Memory) { m.Spent = n.spent }

// Check implements [Client] for a client that makes one release per answer.
func (n *NoFactor) Check(m *Memory, answered int) error { return CheckNoFactor(m, answered, answered) }

// Restore implements [Client].
func (n *NoFactor) Restore(m *Memory) error {
	n.spent = m.Spent
	return nil
}

// CheckNoFactor checks the saved state of a client without a factor. answered is the number of the
// last plan that the client answered, and releases the largest number of releases that it can have
// made.
func CheckNoFactor(m *Memory, releases, answered int) error {
	var none *Factor
	return errors.Join(none.Check(m), CheckNoParts(m), CheckSpent(m.Spent, 0, releases, answered > 0))
}
