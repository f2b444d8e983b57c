package ir

import "slices"

// Program is a model as data, without code. It can be printed, hashed, sent and verified.
type Program struct {
	Name       string
	Columns    []Column
	Parameters []Parameter
	Nodes      []Node
	// Likelihood is the node of the log density of one record.
	Likelihood int
	// Priors has a proper density for every parameter.
	Priors []Prior
	// Factors are nodes that are added to the log of the joint prior density. Each is a number that
	// depends only on parameters. With factors, the prior need not integrate to 1.
	Factors []int
	// Prediction predicts the outcome of a row.
	Prediction Prediction
	// Generated are the nodes of quantities that are computed from parameters after estimation.
	// Only these may depend on a [Draw] or on a comparison of values that depend on parameters.
	Generated []int
}

// Needed reports, for each node, whether a target is or depends on it.
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

// Column is a column that a program reads, with one number in each row or one for each of Entries.
type Column struct {
	Name string
	// Entries has the names of the numbers. It is empty if there is only one.
	Entries Names
	// Lower and Upper are public bounds of the values, which are allowed themselves and may be
	// infinite. model.Model.Load refuses other values.
	Lower, Upper float64
	// Integer restricts the column to whole numbers.
	Integer bool
}

// Width returns the number of values in a row.
func (c Column) Width() int { return max(1, c.Entries.Len()) }

// Parameter is a parameter of the model: a scalar, a vector (Cols = 1) or a matrix stored by
// rows.
type Parameter struct {
	Name       string
	Rows, Cols int
	Constraint Constraint
	// Entries has the names of the elements, which are otherwise numbered from 1.
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

// Kinds of constraints.
const (
	Unconstrained ConstraintKind = iota
	Lower                        // all values are above Constraint.Lower
	Upper                        // all values are below Constraint.Upper
	Both                         // between Constraint.Lower and Constraint.Upper
	Simplex                      // vector of positive numbers with sum 1
	Ordered                      // vector of increasing numbers
	constraintKinds
)

// Constraint is the set in which a parameter lies.
type Constraint struct {
	Kind         ConstraintKind
	Lower, Upper float64
}

// Node is one operation of a program.
type Node struct {
	Op   Op
	Args []int // indices of earlier nodes
	// Ref is the number to which Op refers: a column, a parameter, an element, the first element of
	// a slice, or a density.
	Ref int
	// Rows and Cols are the shape of a constant or of a slice.
	Rows, Cols int
	// Values are the values of a constant, by rows.
	Values []float64
}

// Prior is the density of each element of a parameter, independently. Its arguments may depend on
// earlier parameters.
type Prior struct {
	Parameter int
	Density   Density
	// Args are the nodes of the density's arguments, scalars or in the shape of the parameter.
	Args []int
}

// PredictionKind is the meaning of a predicted value.
type PredictionKind uint8

// These are the kinds of prediction.
const (
	NoPrediction  PredictionKind = iota
	Probability                  // probability of outcome 1
	Mean                         // expected value of a real or integer outcome
	Probabilities                // probabilities of outcomes 0, 1, ...
	predictionKinds
)

// Prediction predicts an outcome column by a node that must not depend on it.
type Prediction struct {
	Kind    PredictionKind
	Node    int
	Outcome int // index of the predicted column
}
