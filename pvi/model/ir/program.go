package ir

// Program is a model as data. A program can be printed, hashed, sent and verified, and it
// contains no code.
type Program struct {
	Name       string
	Columns    []Column
	Parameters []Parameter
	Nodes      []Node
	// Likelihood is the node with the log density of one record.
	Likelihood int
	// Priors give every parameter one proper density.
	Priors []Prior
	// Prediction predicts the outcome of a row.
	Prediction Prediction
}

// Column is a column that a program reads. A row has one number in the column, or one
// number for each entry.
type Column struct {
	Name string
	// Entries names the numbers of a vector. It is empty for a single number.
	Entries Names
	// Lower and Upper are public bounds. The bounds themselves are possible values. They
	// may be infinite. Loading refuses values outside the bounds.
	Lower, Upper float64
	// Integer restricts the column to whole numbers.
	Integer bool
}

// Width returns the number of values that a row has in the column.
func (c Column) Width() int { return max(1, c.Entries.Len()) }

// Parameter is a scalar, a vector (Cols = 1) or a matrix of the model, stored by
// rows.
type Parameter struct {
	Name       string
	Rows, Cols int
	Constraint Constraint
	// Entries names the elements. If it is empty, they are numbered from 1.
	Entries Names
}

// Size returns the number of constrained values.
func (p Parameter) Size() int { return p.Rows * p.Cols }

// Free returns the number of unconstrained coordinates.
func (p Parameter) Free() int {
	if p.Constraint.Kind == Simplex {
		return p.Size() - 1
	}
	return p.Size()
}

// ConstraintKind is the kind of a parameter's set.
type ConstraintKind uint8

// These are the constraints.
const (
	Unconstrained ConstraintKind = iota
	Lower                        // above Constraint.Lower
	Upper                        // below Constraint.Upper
	Both                         // between the two
	Simplex                      // positive, sum 1 (a vector)
	Ordered                      // increasing (a vector)
	constraintKinds
)

// Constraint is a set with its constant bounds.
type Constraint struct {
	Kind         ConstraintKind
	Lower, Upper float64
}

// Node is one operation.
type Node struct {
	Op   Op
	Args []int // earlier nodes
	// Ref is a number that Op needs: the index of a column, of a parameter or of an
	// element, the first row of a slice, or a density.
	Ref int
	// Rows and Cols are the shape of a constant or of a slice.
	Rows, Cols int
	// Values are the values of a constant, by rows.
	Values []float64
}

// Prior is the density of the elements of a parameter, which are independent. The arguments
// of the density are constants or parameters declared earlier.
type Prior struct {
	Parameter int
	Density   Density
	// Args are nodes, each a scalar or of the parameter's size.
	Args []int
}

// PredictionKind is the form of a prediction.
type PredictionKind uint8

// These are the kinds of prediction.
const (
	NoPrediction  PredictionKind = iota
	Probability                  // of outcome 1
	Mean                         // of a number
	Probabilities                // of outcomes 0, 1, ...
	predictionKinds
)

// Prediction is a node that predicts a column without reading it.
type Prediction struct {
	Kind    PredictionKind
	Node    int
	Outcome int // column
}
