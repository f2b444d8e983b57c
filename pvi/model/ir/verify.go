package ir

// This file decides what runs. It is written to be read on its own: a program
// passes if every node uses only earlier nodes, has the arguments that its
// operation needs, and stays within the limits; if every index into a table of
// parameters is a column with bounds inside the table; if the log density of a
// record is a scalar of the record phase; and if the priors are proper.
//
// Non-interference is by absence. The only operation that reads data is Col, and
// it has no argument that could name a row: what it reads is the row at hand.

import (
	"fmt"
	"math"
)

// Verified is a program that has passed [Verify]. It must not be changed.
type Verified struct {
	program  Program
	phases   []Phase
	shapes   []Shape
	positive []bool // known to be positive, whatever the parameters and the row
	latest   []int  // the last parameter that it depends on, -1 for none
}

// Program returns the program, to be read only.
func (v *Verified) Program() *Program { return &v.program }

// Phase returns what node i depends on.
func (v *Verified) Phase(i int) Phase { return v.phases[i] }

// Shape returns the shape of node i.
func (v *Verified) Shape(i int) Shape { return v.shapes[i] }

// Verify checks a program and returns a checked copy. It never panics, whatever
// the program.
func Verify(p Program) (*Verified, error) {
	v := &Verified{program: p.clone()}
	for _, check := range []func() error{v.declarations, v.nodes, v.likelihood, v.priors, v.prediction} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("program %q: %w", clip(p.Name), err)
		}
	}
	return v, nil
}

func (v *Verified) nodes() error {
	p := &v.program
	if len(p.Nodes) > MaxNodes {
		return fmt.Errorf("%d operations, at most %d are allowed", len(p.Nodes), MaxNodes)
	}
	var use usage
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op == Invalid || n.Op >= ops {
			return fmt.Errorf("node %d: there is no operation %d", i, n.Op)
		}
		for _, a := range n.Args {
			if a < 0 || a >= i {
				return fmt.Errorf("node %d (%s) uses node %d, which is not before it", i, n.Op, a)
			}
		}
		if want := opTable[n.Op].args; want >= 0 && len(n.Args) != want || want < 0 && len(n.Args) == 0 {
			return fmt.Errorf("node %d (%s) has %d arguments", i, n.Op, len(n.Args))
		}
		t, err := v.node(n)
		if err != nil {
			return fmt.Errorf("node %d (%s): %w", i, n.Op, err)
		}
		latest := -1
		if n.Op == Param {
			latest = n.Ref
		}
		for _, a := range n.Args {
			latest = max(latest, v.latest[a])
		}
		v.phases, v.shapes = append(v.phases, t.phase), append(v.shapes, t.shape)
		v.positive, v.latest = append(v.positive, t.positive), append(v.latest, latest)
		if err := use.add(v, n, t); err != nil {
			return fmt.Errorf("node %d (%s): %w", i, n.Op, err)
		}
	}
	return nil
}

// typed is what is derived for a node.
type typed struct {
	phase    Phase
	shape    Shape
	positive bool
}

func (v *Verified) node(n *Node) (typed, error) {
	switch opTable[n.Op].form {
	case leaf:
		return v.leaf(n)
	case bridge:
		return v.bridge(n)
	case density:
		return v.density(n)
	}
	phase, err := v.phase(n.Args)
	if err != nil {
		return typed{}, err
	}
	t := typed{phase: phase, shape: v.shapes[n.Args[0]]}
	switch opTable[n.Op].form {
	case mapOne:
		t.positive = positiveUnary(n.Op, v.positive[n.Args[0]])
	case mapTwo:
		a, b := n.Args[0], n.Args[1]
		t.shape, err = broadcast(v.shapes[a], v.shapes[b])
		t.positive = positiveBinary(n.Op, v.positive[a], v.positive[b])
	case reduce:
		t.shape, t.positive = Shape{1, 1}, n.Op == Sum && v.positive[n.Args[0]]
	case rescale:
		t.positive = n.Op == Softmax
		if !t.shape.vector() {
			err = fmt.Errorf("the argument is no vector")
		}
	case shape:
		t.shape, t.positive, err = v.reshape(n)
	}
	return t, err
}

func (v *Verified) leaf(n *Node) (typed, error) {
	p := &v.program
	switch n.Op {
	case Const:
		return constant(n)
	case Col:
		if n.Ref < 0 || n.Ref >= len(p.Columns) {
			return typed{}, fmt.Errorf("there is no column %d", n.Ref)
		}
		c := &p.Columns[n.Ref]
		return typed{Data, Shape{c.Width(), 1}, c.Lower > 0}, nil
	default: // Param
		if n.Ref < 0 || n.Ref >= len(p.Parameters) {
			return typed{}, fmt.Errorf("there is no parameter %d", n.Ref)
		}
		q := &p.Parameters[n.Ref]
		return typed{Shared, Shape{q.Rows, q.Cols}, q.Constraint.positive()}, nil
	}
}

// bridge types the ways from parameters into records.
func (v *Verified) bridge(n *Node) (typed, error) {
	t := n.Args[0]
	if n.Op == Linear {
		t = n.Args[1]
	}
	size, phase := v.shapes[t], v.phases[t]
	if phase != Shared && !(phase == Fixed && n.Op != Global) {
		return typed{}, fmt.Errorf("its table is %s value, not a shared one", phase)
	}
	out := map[Phase]Phase{Shared: Record, Fixed: Data}[phase]
	positive := v.positive[t]
	switch n.Op {
	case Global:
		return typed{out, size, positive}, nil
	case Gather:
		if !size.vector() {
			return typed{}, fmt.Errorf("the table is no vector")
		}
		return typed{out, Shape{1, 1}, positive}, v.index(n.Args[1], size.Rows)
	case GatherRow:
		return typed{out, Shape{size.Cols, 1}, positive}, v.index(n.Args[1], size.Rows)
	case Linear:
		if x := n.Args[0]; v.phases[x] != Data || !v.shapes[x].vector() || v.shapes[x] != size {
			return typed{}, fmt.Errorf("it needs a vector of the row and a table of the same length")
		}
		return typed{out, Shape{1, 1}, false}, nil
	default: // MatVec
		x := n.Args[1]
		phase, ok := Join(out, v.phases[x])
		if !ok || v.phases[x] == Fixed || !v.shapes[x].vector() || v.shapes[x].Rows != size.Cols {
			return typed{}, fmt.Errorf("it needs a matrix and a record's vector as long as the matrix has columns")
		}
		return typed{phase, Shape{size.Rows, 1}, false}, nil
	}
}

// index checks that node i is a column whose values index a table of n rows.
func (v *Verified) index(i, n int) error {
	if v.program.Nodes[i].Op != Col {
		return fmt.Errorf("an index must be a column")
	}
	c := &v.program.Columns[v.program.Nodes[i].Ref]
	if !c.Integer || c.Width() != 1 || !(c.Lower >= 0) || !(c.Upper < float64(n)) {
		return fmt.Errorf("column %q must hold whole numbers with bounds in 0..%d to be an index", c.Name, n-1)
	}
	return nil
}

func (v *Verified) density(n *Node) (typed, error) {
	d := Density(n.Ref)
	if n.Ref < 0 || n.Ref >= int(densities) || !densityTable[d].Record {
		return typed{}, fmt.Errorf("there is no such density of a record")
	}
	info := densityTable[d]
	if len(n.Args) != 1+len(info.Positive) {
		return typed{}, fmt.Errorf("%s needs an outcome and %d arguments", d, len(info.Positive))
	}
	y := n.Args[0]
	if v.phases[y] != Data {
		return typed{}, fmt.Errorf("the outcome of %s is %s value, not row data", d, v.phases[y])
	}
	phase, err := v.phase(n.Args)
	if err != nil {
		return typed{}, err
	}
	out := v.shapes[y]
	for k, a := range n.Args[1:] {
		if info.Positive[k] && !v.positive[a] {
			return typed{}, fmt.Errorf("argument %d of %s is not known to be positive", k+1, d)
		}
		if d == Categorical {
			continue
		}
		if out, err = broadcast(out, v.shapes[a]); err != nil {
			return typed{}, err
		}
	}
	return typed{phase, out, false}, v.outcome(d, n)
}

// outcome checks that the outcome can only take values in the density's support.
func (v *Verified) outcome(d Density, n *Node) error {
	support := densityTable[d].Support
	if support == OnReals {
		return nil
	}
	y := &v.program.Nodes[n.Args[0]]
	top := 1.0
	switch support {
	case OnCounts:
		top = math.Inf(1)
	case OnClasses:
		s := v.shapes[n.Args[1]]
		if !s.vector() {
			return fmt.Errorf("the logits are no vector")
		}
		top = float64(s.Rows - 1)
	}
	if y.Op == Col {
		c := &v.program.Columns[y.Ref]
		if c.Integer && c.Width() == 1 && c.Lower >= 0 && c.Upper <= top {
			return nil
		}
	}
	return fmt.Errorf("the outcome of %s must be a column of whole numbers with bounds in 0..%g", d, top)
}

func (v *Verified) likelihood() error {
	i := v.program.Likelihood
	if i < 0 || i >= len(v.phases) {
		return fmt.Errorf("the likelihood is node %d, which does not exist", i)
	}
	if v.phases[i] != Record || !v.shapes[i].scalar() {
		return fmt.Errorf("the likelihood must be one number that depends on the parameters and the row, and is %s value", v.phases[i])
	}
	return nil
}

// priors checks that the parameters have a proper joint density: each has one
// density, given parameters before it, so the joint density is a product of
// conditional ones, each with an integral of at most 1 over the parameter's set.
func (v *Verified) priors() error {
	p := &v.program
	seen := make([]bool, len(p.Parameters))
	for _, prior := range p.Priors {
		if prior.Parameter < 0 || prior.Parameter >= len(seen) {
			return fmt.Errorf("a prior for parameter %d, which does not exist", prior.Parameter)
		}
		q := &p.Parameters[prior.Parameter]
		if seen[prior.Parameter] {
			return fmt.Errorf("parameter %q has two priors", q.Name)
		}
		seen[prior.Parameter] = true
		if err := v.prior(prior, q); err != nil {
			return fmt.Errorf("prior of %q: %w", q.Name, err)
		}
	}
	for i, ok := range seen {
		if !ok {
			return fmt.Errorf("parameter %q has no proper prior; the study must add one", p.Parameters[i].Name)
		}
	}
	return nil
}

func (v *Verified) prior(prior Prior, q *Parameter) error {
	info, ok := prior.Density.Info()
	if !ok || !info.Prior {
		return fmt.Errorf("there is no such prior density")
	}
	if len(prior.Args) != len(info.Positive) {
		return fmt.Errorf("%s needs %d arguments", prior.Density, len(info.Positive))
	}
	if !info.Support.contains(q.Constraint) {
		return fmt.Errorf("the parameter can leave the support of %s; constrain it", prior.Density)
	}
	for k, a := range prior.Args {
		switch {
		case a < 0 || a >= len(v.phases):
			return fmt.Errorf("there is no node %d", a)
		case v.phases[a] != Fixed && v.phases[a] != Shared:
			return fmt.Errorf("argument %d is %s value: a prior reads no data", k+1, v.phases[a])
		case v.latest[a] >= prior.Parameter:
			return fmt.Errorf("argument %d depends on %q, which is not declared before it", k+1, v.program.Parameters[v.latest[a]].Name)
		case !v.shapes[a].scalar() && v.shapes[a] != Shape{q.Rows, q.Cols}:
			return fmt.Errorf("argument %d has another shape than the parameter", k+1)
		case info.Positive[k] && !v.positive[a]:
			return fmt.Errorf("argument %d of %s is not known to be positive", k+1, prior.Density)
		}
	}
	return nil
}

// contains reports whether every value that the constraint allows is in the
// support.
func (s Support) contains(c Constraint) bool {
	switch s {
	case OnReals:
		return c.Kind != Simplex
	case OnPositive:
		return (c.Kind == Lower || c.Kind == Both) && c.Lower >= 0
	case OnUnit:
		return c.Kind == Both && c.Lower >= 0 && c.Upper <= 1
	case OnSimplex:
		return c.Kind == Simplex
	}
	return false
}
