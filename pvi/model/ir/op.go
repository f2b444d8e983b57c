package ir

// Op is an operation, elementwise unless its comment says otherwise. A scalar is combined with each
// element of a vector.
type Op uint8

// The numbers are part of the canonical form, so new operations must be added at the end.
const (
	Invalid Op = iota

	// Leaves have no arguments.
	Const // the constant with the elements Values
	Col   // value of column number Ref in the row
	Param // value of parameter number Ref, on the parameter's own scale

	// Only these operations read parameters for a record. t is an argument that depends on
	// parameters or constants only, and i an integer value of the row.
	Global    // t itself, for every record
	Gather    // element i of a vector t
	GatherRow // row i of a matrix t
	Linear    // dot product of a vector x of the row and a vector t
	MatVec    // product of a matrix t and a vector x of the row or the record

	// Operations with one argument.
	Neg
	Exp
	Log
	Log1p
	Expm1
	Sqrt
	Square
	Inv
	Tanh
	InvLogit
	LogInvLogit
	Softplus
	Phi
	Abs

	// Operations with two arguments.
	Add
	Sub
	Mul
	Div
	Max
	Min

	// Operations that combine all elements of one argument.
	Sum
	LogSumExp
	Softmax    // the result is a vector
	LogSoftmax // the result is a vector

	// Operations that select or combine elements.
	Dot     // dot product of two vectors
	Element // element number Ref of a vector
	Slice   // Rows×Cols elements, starting at element Ref
	Stack   // vector of the scalar arguments

	// DensityOp is the log of the density with number Ref. Args[0] is the variate, which must be
	// data, and the other elements are the further arguments.
	DensityOp

	// These were added for programs in the Stan language. The result of Less and Equal is 0 or 1.
	// If a comparison or condition depends on parameters, only generated quantities may depend on
	// the result.
	Lgamma // logarithm of the gamma function; it takes one argument
	Less
	Equal
	Select // element of Args[1] where Args[0] is not 0, otherwise element of Args[2]
	Sin
	Cos
	LogPhi // log of the standard normal distribution function

	// Draw is a random number with the [Law] number Cols. Every record has its own if Rows is 1;
	// otherwise all share one. Ref differs between the draws of a program. Only generated
	// quantities may depend on a draw.
	Draw

	// Detach is its argument as a constant of the record, through which no derivatives pass. The
	// argument must not be shared; see [Global].
	Detach

	ops
)

// form is a class of operations with the same kind of shapes.
type form uint8

const (
	leaf form = iota + 1
	bridge
	mapOne
	mapTwo
	choose // operation that selects one of two arguments
	reduce // operation that reduces one vector to a scalar
	rescale
	shape
	density
	random
	detached
)

type opInfo struct {
	name string
	form form
	args int // −1 for any number above 0
}

var opTable = [ops]opInfo{
	Const: {"constant", leaf, 0}, Col: {"column", leaf, 0}, Param: {"parameter", leaf, 0},
	Global: {"global", bridge, 1}, Gather: {"gather", bridge, 2}, GatherRow: {"gather_row", bridge, 2},
	Linear: {"linear", bridge, 2}, MatVec: {"matvec", bridge, 2},
	Neg: {"neg", mapOne, 1}, Exp: {"exp", mapOne, 1}, Log: {"log", mapOne, 1}, Log1p: {"log1p", mapOne, 1},
	Expm1: {"expm1", mapOne, 1}, Sqrt: {"sqrt", mapOne, 1}, Square: {"square", mapOne, 1}, Inv: {"inv", mapOne, 1},
	Tanh: {"tanh", mapOne, 1}, InvLogit: {"inv_logit", mapOne, 1}, LogInvLogit: {"log_inv_logit", mapOne, 1},
	Softplus: {"softplus", mapOne, 1}, Phi: {"phi", mapOne, 1}, Abs: {"abs", mapOne, 1},
	Add: {"add", mapTwo, 2}, Sub: {"sub", mapTwo, 2}, Mul: {"mul", mapTwo, 2}, Div: {"div", mapTwo, 2},
	Max: {"max", mapTwo, 2}, Min: {"min", mapTwo, 2},
	Sum: {"sum", reduce, 1}, LogSumExp: {"log_sum_exp", reduce, 1},
	Softmax: {"softmax", rescale, 1}, LogSoftmax: {"log_softmax", rescale, 1},
	Dot: {"dot", shape, 2}, Element: {"element", shape, 1}, Slice: {"slice", shape, 1}, Stack: {"stack", shape, -1},
	DensityOp: {"density", density, -1},
	Lgamma:    {"lgamma", mapOne, 1}, Less: {"less", mapTwo, 2}, Equal: {"equal", mapTwo, 2}, Select: {"select", choose, 3},
	Sin: {"sin", mapOne, 1}, Cos: {"cos", mapOne, 1}, LogPhi: {"log_phi", mapOne, 1},
	Draw: {"draw", random, -1}, Detach: {"detach", detached, 1},
}

// String returns the name of the operation.
func (o Op) String() string {
	if o == Invalid || o >= ops {
		return "invalid"
	}
	return opTable[o].name
}

// Elementwise reports whether the operation works element by element.
func (o Op) Elementwise() bool {
	return o < ops && (opTable[o].form == mapOne || opTable[o].form == mapTwo)
}
