package ir

// These are the limits of a program. Verify returns an error that names the limit if a
// program exceeds a limit.
const (
	MaxNodes        = 20_000  // operations
	MaxColumns      = 1_024   // columns
	MaxEntries      = 65_536  // numbers of a row in one column
	MaxParameters   = 10_000  // declared
	MaxDimension    = 1 << 20 // elements of all parameters together
	MaxRecordVector = 256     // elements of a node that is computed for every record
	MaxConstants    = 8 << 20 // numbers, 64 MiB
	MaxShared       = 1 << 24 // elements of all nodes that are computed once in a step
	MaxBlockBytes   = 16 << 20
	MaxWork         = 1 << 24 // multiplications for one record
	MaxName         = 256     // bytes
)

// Block is the number of rows that an evaluator computes at a time. MaxBlockBytes counts a
// value and an adjoint for each row.
const Block = 64
