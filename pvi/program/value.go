package program

import (
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A role states how a value is related to the records.
type role byte

const (
	plain role = iota // a value of the record at hand, or the same for all records
	rows              // a value for each record, represented by that of the record at hand
	index             // the variable of a loop over the records
	count             // the number of records
	total             // a sum over the records, plus a value that is the same for all
)

// A base is the kind of a container, or of the innermost containers of an array.
type base byte

const (
	scalar base = iota
	vector
	rowVector
	matrix
)

// A shape is the kind of a container with its sizes: those of the arrays, then those of the
// innermost containers.
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

// table returns the rows and columns of the node that stores this shape. If there are more than two
// axes, all but the last become rows.
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

// A value is the value of an expression for the record at hand: a list of constants, a node of the
// record program, or separate scalars.
type value struct {
	role    role
	shape   shape
	numbers []float64  // constants by rows; nil if the value is not constant
	node    model.Expr // node of the value, if numbers and parts are nil
	parts   []value    // separate scalars, or nil; zero values where not yet assigned
	known   bool       // whether it was assigned
	whole   bool       // whether the type is int
	above   bool       // whether all elements are known to be positive
	in      ir.Interval

	// If from is not nil, the value consists of elements of this parameter, from number first on.
	from  *parameter
	first int
	mixed bool // whether the order differs from that in the parameter

	// cholesky, if not nil, is the parameter of type cholesky_factor_corr whose matrix this is.
	cholesky *parameter

	// rest is the summand of a sum over the records that is the same for all, or nil if it is 0.
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
