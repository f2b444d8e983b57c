package ir

// A Phase is a set of inputs on which a node may depend. It determines when the node is computed.
// The verifier derives the phase from the node's arguments.
type Phase uint8

// These are the phases. The phase of a node is the join of the phases of its arguments, see
// [Join]. Shared has no join with Data or Record, because parameters enter records only through
// the operations [Global], [Gather], [GatherRow], [Linear] and [MatVec].
const (
	Fixed  Phase = iota // depends on constants; computed once for a study
	Data                // depends on one row; computed once for a shard
	Shared              // depends on parameters; computed once for a step
	Record              // depends on one row and parameters; computed for each record in each step
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [...]string{"a constant", "row data", "shared", "a record's"}[p]
}

// Join returns the phase of a node whose arguments have phases a and b. It returns false if the
// phases have no join.
func Join(a, b Phase) (Phase, bool) {
	switch {
	case a == b || b == Fixed:
		return a, true
	case a == Fixed:
		return b, true
	case a == Shared || b == Shared:
		return 0, false
	}
	return Record, true
}

// Shape is the shape of a node's value. A scalar is 1×1, a vector k×1.
type Shape struct{ Rows, Cols int }

// Size returns the number of elements.
func (s Shape) Size() int { return s.Rows * s.Cols }

func (s Shape) scalar() bool { return s == Shape{1, 1} }
func (s Shape) vector() bool { return s.Cols == 1 }
