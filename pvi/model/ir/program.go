package ir

import "slices"

// Program is a model in the form of data. It contains no code, so it can be printed, hashed, sent
// and verified.
type Program struct {
	Name       string
	Columns    []Column
	Parameters []Parameter
	Nodes      []Node
	// Likelihood is the index of the node that computes the log density of one record.
	Likelihood int
	// Priors has a proper density for every parameter.
	Priors []Prior
	// Factors lists nodes that are added to the log of the joint prior density. Each of them is a
	// number that depends only on parameters. With factors, the prior need not integrate to 1.
	Factors []int
	// Prediction predicts the outcome of a row.
	Prediction Prediction
	// Generated are the nodes of quantities that are computed from parameters after estimation.
	// Only these nodes may depend on a [Draw] or on a comparison of values that depend on
	// parameters.
	Generated []int
}

// Needed reports, for each node, whether one of the targets depends on it. A target depends on
// itself.
func (p *Program) Needed(targets ...int) []bool {
	needed := make([]bool, len(p.Nodes))
	for _, i := range targets {
		needed[i] = true
	}
	for i, n := range slices.Backward(p.Nodes) {
		for _, a := range n.Args {
			needed[a] = needed[a] || needed[i]
		}
	}
	return needed
}

// Dependents reports, for each node, whether is returns true for it or for a node on which it
// depends.
func (p *Program) Dependents(is func(n *Node) bool) []bool {
	dependents := make([]bool, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		dependents[i] = is(n) || slices.ContainsFunc(n.Args, func(a int) bool { return dependents[a] })
	}
	return dependents
}

// Results returns the nodes of the log density, of the prior and of the prediction.
func (p *Program) Results() []int {
	results := append([]int{p.Likelihood}, p.Factors...)
	for _, q := range p.Priors {
		results = append(results, q.Args...)
	}
	if p.Prediction.Kind != NoPrediction {
		results = append(results, p.Prediction.Node)
	}
	return results
}

// Column is a column that a program reads. Each row has one number in the column, or several numbers
// if the column has Entries.
type Column struct {
	Name string
	// Entries has the names of the numbers. It is empty if a row has a single number.
	Entries Names
	// Lower and Upper are public bounds of the values. The bounds themselves are allowed values. A
	// bound may be infinite. model.Model.Load returns an error for a value outside the bounds.
	Lower, Upper float64
	// Integer restricts the column to whole numbers.
	Integer bool
}

// Width returns the number of values in one row of the column.
func (c Column) Width() int { return max(1, c.Entries.Len()) }

// Parameter is a parameter of the model: a scalar, a vector (Cols = 1) or a matrix stored by
// rows.
type Parameter struct {
	Name       string
	Rows, Cols int
	Constraint Constraint
	// Entries has the names of the elements. If it is empty, the elements are numbered from 1.
	Entries Names
}

// Size returns the number of elements on the parameter's own scale.
func (p Parameter) Size() int { return p.Rows * p.Cols }

// Free returns the number of unconstrained coordinates of the parameter.
func (p Parameter) Free() int {
	if p.Constraint.Kind == Simplex {
		return p.Size() - 1
	}
	return p.Size()
}

// ConstraintKind is the kind of set in which a parameter lies.
type ConstraintKind uint8

// These are the kinds of constraints.
const (
	Unconstrained ConstraintKind = iota
	Lower                        // all values are above Constraint.Lower
	Upper                        // all values are below Constraint.Upper
	Both                         // between Constraint.Lower and Constraint.Upper
	Simplex                      // vector of positive numbers with sum 1
	Ordered                      // vector of increasing numbers
	constraintKinds
)

// Constraint is the set in which a parameter lies, with its constant bounds.
type Constraint struct {
	Kind         ConstraintKind
	Lower, Upper float64
}

// Node is one operation of a program.
type Node struct {
	Op   Op
	Args []int // indices of earlier nodes
	// Ref is the number to which Op refers: the index of a column, of a parameter or of an element,
	// the first element of a slice, or the number of a density.
	Ref int
	// Rows and Cols are the shape of a constant or of a slice.
	Rows, Cols int
	// Values are the values of a constant, by rows.
	Values []float64
}

// Prior is the density of each element of a parameter. The elements are independent. The arguments
// of the density may depend on parameters that are declared earlier.
type Prior struct {
	Parameter int
	Density   Density
	// Args are the nodes of the density's arguments. Each argument is a scalar or has the shape of
	// the parameter.
	Args []int
}

// PredictionKind is the meaning of a predicted value, such as a mean or a probability.
type PredictionKind uint8

// These are the kinds of prediction.
const (
	NoPrediction  PredictionKind = iota
	Probability                  // probability of outcome 1
	Mean                         // expected value of a real or integer outcome
	Probabilities                // probabilities of outcomes 0, 1, ...
	predictionKinds
)

// Prediction is a prediction of an outcome column by a node. The node must not depend on this
// column.
type Prediction struct {
	Kind    PredictionKind
	Node    int
	Outcome int // index of the predicted column
}
