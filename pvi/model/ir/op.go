package ir

// Op is an operation. Operations are elementwise unless their comments say otherwise. A scalar is
// combined with each element of a vector.
type Op uint8

// The constants' values are part of the canonical form, so new operations must be added at the end.
const (
	Invalid Op = iota

	// Leaves have no arguments.
	Const // constant with the elements in Values
	Col   // value of column number Ref in the row
	Param // value of parameter number Ref, on the parameter's own scale

	// Only these operations let a record read parameters. The argument t must depend on parameters or
	// constants only, and i must be an integer in the row.
	Global    // t itself, for each record
	Gather    // element i of a vector t
	GatherRow // row i of a matrix t
	Linear    // dot product of t and a vector x in the row
	MatVec    // product of a matrix t and a vector x, which is in the row or computed for the record

	// These operations have one argument.
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

	// These operations have two arguments.
	Add
	Sub
	Mul
	Div
	Max
	Min

	// These operations combine all elements of their argument.
	Sum
	LogSumExp
	Softmax    // the result is a vector
	LogSoftmax // the result is a vector

	// These operations select or combine elements.
	Dot     // dot product of two vectors
	Element // element number Ref of a vector
	Slice   // Rows×Cols elements, beginning with element number Ref
	Stack   // vector made of the scalar arguments

	// DensityOp is the log of the density with number Ref. Args[0] is the variate, which must be data,
	// and the rest of Args are the density's other arguments.
	DensityOp

	// These operations were added for programs in the Stan language. Less and Equal return 0 or 1. If
	// a comparison or a condition depends on parameters, its result may be used only for generated
	// quantities.
	Lgamma // logarithm of the gamma function, which has one argument
	Less
	Equal
	Select // element of Args[1] where Args[0] is not 0, and of Args[2] elsewhere
	Sin
	Cos
	LogPhi // log of the standard normal distribution function

	// Draw is a random number with the [Law] number Cols. If Rows is 1, each record has its own, and
	// otherwise all share one. Ref tells the draws of a program apart. A draw may be used only for
	// generated quantities.
	Draw

	// Detach returns its argument, but no derivatives pass through it. For a record, the result is a
	// constant. The argument must not be shared; see [Global].
	Detach

	ops
)

// A form is a class of operations that treat shapes in the same way.
type form uint8

const (
	leaf form = iota + 1
	bridge
	mapOne
	mapTwo
	choose // selects one of two arguments
	reduce // reduces a vector to a scalar
	rescale
	shape
	density
	random
	detached
)

type opInfo struct {
	name string
	form form
	args int // number of arguments; −1 for any number from 1
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

// String returns the operation's name.
func (o Op) String() string {
	if o == Invalid || o >= ops {
		return "invalid"
	}
	return opTable[o].name
}

// Elementwise reports whether the operation is applied element by element.
func (o Op) Elementwise() bool {
	return o < ops && (opTable[o].form == mapOne || opTable[o].form == mapTwo)
}
