package program

import (
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A role says how a value depends on the records.
type role byte

const (
	plain role = iota // belongs to the current record, or is the same for all records
	rows              // each record has its own; the value is that of the current record
	index             // the variable of a loop over the records
	count             // the number of records
	total             // a sum over the records, plus a number that is the same for all records
)

// A base is the kind of a container. For an array, it is the kind of the innermost containers.
type base byte

const (
	scalar base = iota
	vector
	rowVector
	matrix
)

// A shape is the kind of a container together with its sizes. The sizes of the arrays come first,
// and those of the innermost containers last.
type shape struct {
	base base
	dims []int
}

var inner = [...]int{scalar: 0, vector: 1, rowVector: 1, matrix: 2}

func (s shape) size() int {
	n := 1
	for _, d := range s.dims {
		n *= d
	}
	return n
}

func (s shape) single() bool { return len(s.dims) == 0 }

func (s shape) equal(t shape) bool {
	return s.base == t.base && slices.Equal(s.dims, t.dims)
}

// table returns the numbers of rows and columns of the node that stores this shape. If there are
// more than two axes, all but the last are combined into rows.
func (s shape) table() (rows, cols int) {
	switch k := len(s.dims); k {
	case 0:
		return 1, 1
	case 1:
		return s.dims[0], 1
	default:
		cols = s.dims[k-1]
		return s.size() / max(cols, 1), cols
	}
}

// first returns the shape of one element along the first axis.
func (s shape) first() shape {
	rest := s.dims[1:]
	b := s.base
	switch {
	case len(rest) >= inner[b]:
	case b == matrix:
		b = rowVector
	default:
		b = scalar
	}
	return shape{b, rest}
}

// A value is the value of an expression for the current record. It is stored as a list of
// constants, as a node of the record program, or as separate scalars.
type value struct {
	role    role
	shape   shape
	numbers []float64  // constants, row by row; nil if the value is not constant
	node    model.Expr // node of the value if both numbers and parts are nil
	parts   []value    // separate scalars, or nil; zero values for those that have not been assigned
	known   bool       // whether the value has been assigned
	whole   bool       // whether the type is int
	above   bool       // whether all elements are known to be positive
	in      ir.Interval

	// If from is not nil, the value consists of elements of this parameter, beginning with element
	// first.
	from  *parameter
	first int
	mixed bool // whether the elements are in a different order than in the parameter

	// If cholesky is not nil, it is a parameter of type cholesky_factor_corr, and the value is its
	// matrix.
	cholesky *parameter

	// If the value is a sum over the records, rest is the summand that is the same for all records, or
	// nil if it is 0.
	rest *value
}

func constant(x float64) value { return constants(shape{}, []float64{x}) }

func constants(s shape, x []float64) value {
	in := ir.IntervalOf(x)
	return value{shape: s, numbers: x, known: true, above: in.Low > 0, in: in}
}

func wholeNumber(n int) value {
	v := constant(float64(n))
	v.whole = true
	return v
}

// fixed reports whether the value is constant.
func (v *value) fixed() bool { return v.numbers != nil }

func (v *value) number() float64 { return v.numbers[0] }
