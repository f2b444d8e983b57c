package ir

// A Phase says whether a node depends on a row, on parameters, on both or on neither. It determines
// when the node is computed.
type Phase uint8

// The phase of a node is computed from the phases of its arguments, see [Join]. Shared cannot be
// joined with Data or Record: a node that depends on a row can read parameters only through
// [Global], [Gather], [GatherRow], [Linear] and [MatVec].
const (
	Fixed  Phase = iota // depends on constants only; computed once per study
	Data                // depends on a row; computed once per shard
	Shared              // depends on parameters; computed once per step
	Record              // depends on a row and on parameters; computed for each record in each step
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [...]string{"a constant", "row data", "shared", "a record's"}[p]
}

// Join returns the phase of a node whose arguments have phases a and b. It returns false if no node
// may have such arguments.
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

// Shape is the shape of a node's value. A scalar is 1×1, and a vector of k elements is k×1.
type Shape struct{ Rows, Cols int }

// Size returns the number of elements.
func (s Shape) Size() int { return s.Rows * s.Cols }

func (s Shape) scalar() bool { return s == Shape{1, 1} }
func (s Shape) vector() bool { return s.Cols == 1 }
