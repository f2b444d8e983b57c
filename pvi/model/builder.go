package model

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"fedpvi/pvi/model/ir"
)

// A Builder builds the program of a model from expressions. Its methods return expressions, so
// calls can be nested. If a call fails, [Builder.Build] returns the first error.
//
// The builder works out the [ir.Phase] of each expression: whether it is computed only once, once
// per step, or for every record.
type Builder struct {
	program ir.Program
	phases  []ir.Phase
	hidden  []bool         // whether each node depends on a latent
	latents []string       // names of the latents
	known   map[string]int // index of each node, by a description of its operation; equal expressions share a node
	later   bool           // whether a prior may depend on parameters declared after it
	err     error

	densities map[int]int    // see [Model.Densities]
	texts     map[int]string // see [Builder.Describe]
}

// MarkDensity declares that an expression is the log density of variate, which must be data.
// Density operations need no such mark. See [Model.Densities].
func (b *Builder) MarkDensity(density, variate Expr) {
	if b.densities == nil {
		b.densities = map[int]int{}
	}
	b.densities[density.node] = variate.node
}

// An Expr is an expression in the program that a Builder builds.
type Expr struct{ node int }

func indices(all []Expr) []int {
	nodes := make([]int, len(all))
	for i, e := range all {
		nodes[i] = e.node
	}
	return nodes
}

// NewBuilder returns a builder for the program of the named family of models.
func NewBuilder(name string) *Builder {
	return &Builder{program: ir.Program{Name: name}, known: map[string]int{}}
}

func (b *Builder) fail(format string, args ...any) Expr {
	if b.err == nil {
		b.err = fmt.Errorf("building %s: "+format, append([]any{b.program.Name}, args...)...)
	}
	return Expr{-1}
}

// Real declares a column of real numbers with the given public bounds, which may be infinite.
func (b *Builder) Real(name string, lower, upper float64) Expr {
	return b.Column(ir.Column{Name: name, Lower: lower, Upper: upper})
}

// Reals declares a column that has several real numbers in each row, one for each name in entries.
// All have the same public bounds.
func (b *Builder) Reals(name string, entries []string, lower, upper float64) Expr {
	if len(entries) == 0 {
		return b.fail("column %q has no entries", name)
	}
	return b.Column(ir.Column{Name: name, Entries: ir.NamesOf(entries...), Lower: lower, Upper: upper})
}

// Integer declares a column of integers in [lower, upper]. To index a table of n elements, use
// Integer(name, 0, n−1).
func (b *Builder) Integer(name string, lower, upper float64) Expr {
	return b.Column(ir.Column{Name: name, Lower: lower, Upper: upper, Integer: true})
}

// Column declares a column.
func (b *Builder) Column(c ir.Column) Expr {
	b.program.Columns = append(b.program.Columns, c)
	return b.node(ir.Node{Op: ir.Col, Ref: len(b.program.Columns) - 1}, ir.Data)
}

// Number returns a constant.
func (b *Builder) Number(x float64) Expr { return b.Numbers(x) }

// Numbers returns a constant vector.
func (b *Builder) Numbers(x ...float64) Expr { return b.Matrix(len(x), 1, x) }

// Matrix returns a constant matrix whose values are given row by row.
func (b *Builder) Matrix(rows, cols int, values []float64) Expr {
	return b.node(ir.Node{Op: ir.Const, Rows: rows, Cols: cols, Values: slices.Clone(values)}, ir.Fixed)
}

// A Distribution is a density together with its arguments, for use as a prior.
type Distribution struct {
	Density ir.Density
	Args    []Expr
}

// Of returns the distribution with the density d and the given arguments, which must be constants
// or depend on parameters declared earlier.
func (b *Builder) Of(d ir.Density, args ...Expr) Distribution { return Distribution{d, args} }

// Normal returns the distribution N(Mean, SD²) with constant arguments.
func (b *Builder) Normal(n Normal) Distribution {
	return b.Of(ir.Normal, b.Number(n.Mean), b.Number(n.SD))
}

// Scalar declares a parameter with one element.
func (b *Builder) Scalar(name string, c ir.Constraint, prior Distribution) Expr {
	return b.Parameter(ir.Parameter{Name: name, Rows: 1, Cols: 1, Constraint: c}, prior)
}

// Vector declares a parameter with one element for each name in entries.
func (b *Builder) Vector(name string, entries []string, c ir.Constraint, prior Distribution) Expr {
	return b.Parameter(ir.Parameter{Name: name, Rows: len(entries), Cols: 1, Entries: ir.NamesOf(entries...), Constraint: c}, prior)
}

// Parameter declares a parameter with a prior. Given the arguments of the prior, the elements of
// the parameter are independent.
func (b *Builder) Parameter(q ir.Parameter, prior Distribution) Expr {
	if i := slices.IndexFunc(prior.Args, func(a Expr) bool { return !b.has(a) }); i >= 0 {
		return b.fail("prior of %q: argument %d is not an expression of this program", q.Name, i+1)
	}
	k := len(b.program.Parameters)
	b.program.Parameters = append(b.program.Parameters, q)
	b.program.Priors = append(b.program.Priors, ir.Prior{Parameter: k, Density: prior.Density, Args: indices(prior.Args)})
	return b.node(ir.Node{Op: ir.Param, Ref: k}, ir.Shared)
}

// Positive is the constraint of a positive parameter, such as a standard deviation.
var Positive = ir.Constraint{Kind: ir.Lower}

// Free is the constraint of an unbounded parameter.
var Free = ir.Constraint{}

// Predict declares that prediction predicts the column outcome. kind says how to interpret the
// predicted value.
func (b *Builder) Predict(kind ir.PredictionKind, outcome, prediction Expr) {
	if !b.has(outcome) || !b.has(prediction) || b.program.Nodes[outcome.node].Op != ir.Col {
		b.fail("a prediction needs an outcome column and an expression")
		return
	}
	b.program.Prediction = ir.Prediction{Kind: kind, Node: prediction.node, Outcome: b.program.Nodes[outcome.node].Ref}
}

// Build verifies the program and returns it as a model. likelihood is the log density of a record.
// If an earlier call failed, Build returns that error.
func (b *Builder) Build(likelihood Expr) (*Model, error) {
	if b.err != nil {
		return nil, b.err
	}
	if !b.has(likelihood) {
		return nil, errors.New("building " + b.program.Name + ": the likelihood is not an expression of this program")
	}
	b.program.Likelihood = likelihood.node
	if b.later {
		if b.arrange(); b.err != nil {
			return nil, b.err
		}
	}
	program := b.visible()
	if b.err != nil {
		return nil, b.err
	}
	m, err := New(program)
	if err != nil {
		return nil, err
	}
	m.densities, m.texts = maps.Clone(b.densities), maps.Clone(b.texts) // later calls to the builder may change the builder's maps
	return m, nil
}

func (b *Builder) has(e Expr) bool { return e.node >= 0 && e.node < len(b.program.Nodes) }

// node returns the expression for n. If the program does not have n yet, node adds it.
func (b *Builder) node(n ir.Node, phase ir.Phase) Expr {
	key := fmt.Sprintf("%v %v %d %d %d %x", n.Op, n.Args, n.Ref, n.Rows, n.Cols, digest(n.Values))
	if i, ok := b.known[key]; ok {
		return Expr{i}
	}
	i := len(b.program.Nodes)
	b.program.Nodes, b.phases = append(b.program.Nodes, n), append(b.phases, phase)
	hidden := n.Op == ir.Invalid || slices.ContainsFunc(n.Args, func(a int) bool { return b.hidden[a] })
	b.hidden = append(b.hidden, hidden)
	b.known[key] = i
	return Expr{i}
}

// digest returns a hash of values, which keeps map keys short.
func digest(values []float64) []byte {
	h := sha256.New()
	var b [8]byte
	for _, x := range values {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(x))
		h.Write(b[:])
	}
	return h.Sum(nil)
}
