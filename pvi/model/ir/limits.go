package ir

// These constants limit the size of a program. If it exceeds a limit, the error of Verify says
// which one.
const (
	MaxNodes        = 20_000  // number of operations
	MaxColumns      = 1_024   // number of columns
	MaxEntries      = 65_536  // number of values that one row of a column has
	MaxParameters   = 10_000  // number of declared parameters
	MaxDimension    = 1 << 20 // number of elements in all parameters together
	MaxRecordVector = 256     // number of elements in a node that is computed for every record
	MaxConstants    = 8 << 20 // number of elements in all constants together; 64 MiB
	MaxShared       = 1 << 24 // number of elements in all nodes that do not depend on a row
	MaxBlockBytes   = 16 << 20
	MaxWork         = 1 << 24 // number of multiplications per record
	MaxName         = 256     // length of a name in bytes
)

// Block is the number of rows that an evaluator computes at a time. For each row and each element
// of a node, the evaluator stores the value, the adjoint and, for a density, the derivatives with
// respect to its arguments. MaxBlockBytes limits the memory for this.
const Block = 64
