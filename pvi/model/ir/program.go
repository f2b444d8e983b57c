package ir

// Program is a model. It is data: it can be printed, hashed, sent and verified,
// and it holds no code.
type Program struct {
	Name       string
	Columns    []Column
	Parameters []Parameter
	Nodes      []Node
	// Likelihood is the node with the log density of one record.
	Likelihood int
	// Priors give every parameter one proper density.
	Priors []Prior
	// Predictions are what the program can say about the outcome of a row.
	Prediction Prediction
}

// Column is what a program reads of a row: one number, or one for each entry.
type Column struct {
	Name string
	// Entries names the numbers of a vector; there are none for a single number.
	Entries Names
	// Lower and Upper are public bounds, both possible values. They may be
	// infinite. Data outside is refused when it is loaded.
	Lower, Upper float64
	// Integer says that only whole numbers occur.
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
	// Entries names the elements, or is empty: then they are numbered from 1.
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

// ConstraintKind names the set in which a parameter lives.
type ConstraintKind uint8

// The constraints.
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
	// Ref is the column, the parameter, the element, the first row or the density
	// that Op needs.
	Ref int
	// Rows and Cols are the shape of a constant or of a slice.
	Rows, Cols int
	// Values are those of a constant, by rows.
	Values []float64
}

// Prior says that the elements of a parameter independently have a density, given
// constants and parameters that are declared earlier.
type Prior struct {
	Parameter int
	Density   Density
	// Args are nodes, each a scalar or of the parameter's size.
	Args []int
}

// PredictionKind is the form of a prediction.
type PredictionKind uint8

// The kinds of prediction.
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
