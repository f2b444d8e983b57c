package program

import (
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A role tells how a value relates to the records.
type role byte

const (
	plain role = iota // a value of the record at hand, or one that is the same for all records
	rows              // a value for each record; the value and its shape are those of the record at hand
	index             // the number of the record in a loop over the records
	count             // the number of records
	total             // a sum over the records, plus a value that is the same for all records
)

// base is the kind of the innermost container.
type base byte

const (
	scalar base = iota
	vector
	rowVector
	matrix
)

// A shape is the shape of a value: the sizes of arrays and then those of the innermost container.
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
	if s.base != t.base || len(s.dims) != len(t.dims) {
		return false
	}
	for i, d := range s.dims {
		if d != t.dims[i] {
			return false
		}
	}
	return true
}

// table returns the rows and columns of the node with a value of this shape.
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

// first returns the shape of an element along the first axis.
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

// A value is the value of an expression: constants, or a node of the record program, or scalars
// that were assigned one by one.
type value struct {
	role    role
	shape   shape
	numbers []float64  // constants, by rows; nil for other values
	node    model.Expr // node, if numbers and parts are nil
	parts   []value    // scalars; an element that is not assigned has the role 0 and nothing else
	known   bool       // false for the zero value
	whole   bool       // whether the type is int
	above   bool       // whether all elements are known to be positive
	in      ir.Interval

	// from, if not nil, is the parameter to which the elements of this value belong. They are its
	// elements from index first up to, but not including, first + size.
	from  *parameter
	first int
	mixed bool // whether the elements are in another order than those of the parameter

	// of, if not nil, is the Cholesky factor of correlations that the value is.
	of *parameter

	// rest is the part of a total that is the same for all records; nil if it is 0.
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

// number returns the only element of a constant.
func (v *value) number() float64 { return v.numbers[0] }
