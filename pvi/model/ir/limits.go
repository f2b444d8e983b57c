package ir

// These are the limits of a program. Verify returns an error that names the first limit that a
// program exceeds.
const (
	MaxNodes        = 20_000  // number of operations
	MaxColumns      = 1_024   // number of columns
	MaxEntries      = 65_536  // numbers in one row of a column
	MaxParameters   = 10_000  // number of declared parameters
	MaxDimension    = 1 << 20 // number of elements of all parameters
	MaxRecordVector = 256     // number of elements of a node that is computed for every record
	MaxConstants    = 8 << 20 // numbers in all constants together, 64 MiB
	MaxShared       = 1 << 24 // number of elements of all nodes that are computed once in a step
	MaxBlockBytes   = 16 << 20
	MaxWork         = 1 << 24 // number of multiplications for one record
	MaxName         = 256     // length of a name in bytes
)

// Block is the number of rows that an evaluator computes at a time. MaxBlockBytes limits the
// memory for a block, which is two numbers for each row and element of a node: its value and its
// adjoint.
const Block = 64
