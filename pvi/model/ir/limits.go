package ir

// These constants limit the size of a program. Verify returns an error that names the limit.
const (
	MaxNodes        = 20_000  // number of operations
	MaxColumns      = 1_024   // number of columns
	MaxEntries      = 65_536  // number of values in one row of a column
	MaxParameters   = 10_000  // number of declared parameters
	MaxDimension    = 1 << 20 // elements of all parameters
	MaxRecordVector = 256     // elements of a node that is computed for every record
	MaxConstants    = 8 << 20 // elements of all constants; 64 MiB
	MaxShared       = 1 << 24 // elements of all nodes that do not depend on a row
	MaxBlockBytes   = 16 << 20
	MaxWork         = 1 << 24 // number of multiplications for one record
	MaxName         = 256     // length of a name in bytes
)

// Block is the number of rows that an evaluator computes at a time. For each row and element of a
// node it stores the value, the adjoint and, for a density, the derivatives in the arguments.
// MaxBlockBytes limits this memory.
const Block = 64
