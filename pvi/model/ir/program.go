package ir

import "slices"

// Program is a model that is stored as data and contains no code. It can be printed, hashed, sent
// and verified.
type Program struct {
	Name       string
	Columns    []Column
	Parameters []Parameter
	Nodes      []Node
	// Likelihood is the index of the node that computes the log density of a record.
	Likelihood int
	// Priors has a proper density for each parameter.
	Priors []Prior
	// Factors are nodes whose values are added to the log density of the joint prior. Each must be a
	// number that depends only on parameters. With factors, the prior need not integrate to 1.
	Factors []int
	// Prediction says how the outcome of a row is predicted.
	Prediction Prediction
	// Generated lists the nodes of quantities that are computed from parameters after the fit. Only
	// these may depend on a [Draw], or on a comparison of values that depend on parameters.
	Generated []int
}

// Needed reports for each node whether one of the targets is that node or depends on it.
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

// Dependents reports for each node whether is returns true for the node itself or for a node that
// it depends on.
func (p *Program) Dependents(is func(n *Node) bool) []bool {
	dependents := make([]bool, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		dependents[i] = is(n) || slices.ContainsFunc(n.Args, func(a int) bool { return dependents[a] })
	}
	return dependents
}

// Results returns the nodes that compute the log density, the prior and the prediction.
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

// Column is a column that a program reads. Each row has one number in it or, if Entries is not
// empty, one number for each entry.
type Column struct {
	Name string
	// Entries holds the names of the numbers. It is empty if there is only one.
	Entries Names
	// Lower and Upper are the public bounds. They are allowed values themselves, and may be infinite.
	// model.Model.Load refuses values beyond them.
	Lower, Upper float64
	// Integer means that the values are whole numbers.
	Integer bool
}

// Width returns the number of values per row.
func (c Column) Width() int { return max(1, c.Entries.Len()) }

// Parameter is a parameter of the model: a scalar, a vector (Cols = 1) or a matrix stored by
// rows.
type Parameter struct {
	Name       string
	Rows, Cols int
	Constraint Constraint
	// Entries holds the names of the elements. If it is empty, they are numbered from 1.
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

// ConstraintKind says what set of values a parameter may have.
type ConstraintKind uint8

// The kinds of constraints are these.
const (
	Unconstrained ConstraintKind = iota
	Lower                        // numbers above Constraint.Lower
	Upper                        // numbers below Constraint.Upper
	Both                         // numbers between Constraint.Lower and Constraint.Upper
	Simplex                      // vectors of positive numbers that add up to 1
	Ordered                      // vectors of increasing numbers
	constraintKinds
)

// Constraint is the set of values that a parameter may have.
type Constraint struct {
	Kind         ConstraintKind
	Lower, Upper float64
}

// Node is one operation in a program.
type Node struct {
	Op   Op
	Args []int // indices of earlier nodes
	// Ref is a number that Op uses: the index of a column, a parameter, an element or the first
	// element of a slice, or the number of a density.
	Ref int
	// Rows and Cols give the shape of a constant or of a slice.
	Rows, Cols int
	// Values holds the values of a constant, row by row.
	Values []float64
}

// Prior is a density that each element of a parameter has independently of the others. Its
// arguments may depend on earlier parameters.
type Prior struct {
	Parameter int
	Density   Density
	// Args are the nodes with the density's arguments. They are scalars or have the parameter's shape.
	Args []int
}

// PredictionKind says how to interpret a predicted value.
type PredictionKind uint8

// These are the kinds of prediction.
const (
	NoPrediction  PredictionKind = iota
	Probability                  // probability of outcome 1
	Mean                         // expected value of a real or integer outcome
	Probabilities                // probabilities of outcomes 0, 1, ...
	predictionKinds
)

// Prediction predicts a column, the outcome, by a node that does not depend on it.
type Prediction struct {
	Kind    PredictionKind
	Node    int
	Outcome int // index of the column that is predicted
}
