package ir

import (
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// This file contains the verifier's rules about declarations, shapes and limits.

func (v *Verified) declarations() error {
	p := &v.program
	if err := name("program", p.Name); err != nil {
		return err
	}
	if len(p.Columns) > MaxColumns || len(p.Parameters) > MaxParameters {
		return fmt.Errorf("%d columns and %d parameters, at most %d and %d are allowed",
			len(p.Columns), len(p.Parameters), MaxColumns, MaxParameters)
	}
	names, differ := map[string]bool{}, map[*list]bool{}
	for _, c := range p.Columns {
		if err := c.check(names, differ); err != nil {
			return err
		}
	}
	total := 0
	for _, q := range p.Parameters {
		if err := q.check(names, differ); err != nil {
			return err
		}
		if total += q.Size(); total > MaxDimension {
			return fmt.Errorf("the parameters have more than %d elements", MaxDimension)
		}
	}
	return nil
}

func name(what, s string) error {
	if s == "" || len(s) > MaxName || !utf8.ValidString(s) {
		return fmt.Errorf("a %s needs a name of 1..%d bytes of UTF-8", what, MaxName)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("the name of a %s has a character that does not print", what)
		}
	}
	return nil
}

func once(what, s string, seen map[string]bool) error {
	if err := name(what, s); err != nil {
		return err
	}
	if seen[s] {
		return fmt.Errorf("the name %q is given twice", s)
	}
	seen[s] = true
	return nil
}

func (c *Column) check(names map[string]bool, differ map[*list]bool) error {
	if err := once("column", c.Name, names); err != nil {
		return err
	}
	if n := c.Entries.Len(); n > MaxEntries {
		return fmt.Errorf("column %q has %d entries, at most %d are allowed", c.Name, n, MaxEntries)
	}
	if err := c.Entries.check("entry", differ); err != nil {
		return fmt.Errorf("column %q: %w", c.Name, err)
	}
	if !(c.Lower < c.Upper) {
		return fmt.Errorf("column %q has bounds %g and %g, the lower must be below the upper", c.Name, c.Lower, c.Upper)
	}
	return nil
}

func (q *Parameter) check(names map[string]bool, differ map[*list]bool) error {
	if err := once("parameter", q.Name, names); err != nil {
		return err
	}
	if q.Rows < 1 || q.Cols < 1 || q.Rows > MaxDimension || q.Cols > MaxDimension/q.Rows {
		return fmt.Errorf("parameter %q is %d×%d: it needs 1..%d elements", q.Name, q.Rows, q.Cols, MaxDimension)
	}
	if n := q.Entries.Len(); n > 0 && n != q.Size() {
		return fmt.Errorf("parameter %q has %d elements and %d names for them", q.Name, q.Size(), n)
	}
	if err := q.Entries.check("element", differ); err != nil {
		return fmt.Errorf("parameter %q: %w", q.Name, err)
	}
	if err := q.Constraint.check(q); err != nil {
		return fmt.Errorf("parameter %q: %w", q.Name, err)
	}
	return nil
}

func (c Constraint) check(q *Parameter) error {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	switch c.Kind {
	case Unconstrained:
	case Lower:
		if !finite(c.Lower) {
			return fmt.Errorf("the lower bound is not finite")
		}
	case Upper:
		if !finite(c.Upper) {
			return fmt.Errorf("the upper bound is not finite")
		}
	case Both:
		if !(c.Lower < c.Upper) || !finite(c.Upper-c.Lower) {
			return fmt.Errorf("the bounds %g and %g do not enclose an interval", c.Lower, c.Upper)
		}
	case Simplex, Ordered:
		if q.Cols != 1 || q.Rows < 2 {
			return fmt.Errorf("a simplex and an ordered parameter are vectors of at least 2 elements")
		}
	default:
		return fmt.Errorf("there is no constraint %d", c.Kind)
	}
	return nil
}

func (c Constraint) positive() bool {
	return c.Kind == Simplex || (c.Kind == Lower || c.Kind == Both) && c.Lower >= 0
}

func constant(n *Node) (typed, error) {
	if n.Rows < 1 || n.Cols < 1 || n.Rows > MaxConstants || n.Cols > MaxConstants/n.Rows || len(n.Values) != n.Rows*n.Cols {
		return typed{}, fmt.Errorf("%d values for a shape of %d×%d", len(n.Values), n.Rows, n.Cols)
	}
	positive := true
	for _, x := range n.Values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return typed{}, fmt.Errorf("a constant is not finite")
		}
		positive = positive && x > 0
	}
	return typed{Fixed, Shape{n.Rows, n.Cols}, positive}, nil
}

func broadcast(a, b Shape) (Shape, error) {
	switch {
	case a == b || b.scalar():
		return a, nil
	case a.scalar():
		return b, nil
	}
	return Shape{}, fmt.Errorf("the shapes %d×%d and %d×%d do not fit", a.Rows, a.Cols, b.Rows, b.Cols)
}

// reshape returns the shape of a Dot, Element, Slice or Stack, and reports whether the values are
// known to be positive.
func (v *Verified) reshape(n *Node) (Shape, bool, error) {
	first := v.shapes[n.Args[0]]
	switch n.Op {
	case Dot:
		if b := v.shapes[n.Args[1]]; !first.vector() || first != b {
			return Shape{}, false, fmt.Errorf("it needs two vectors of one length")
		}
		return Shape{1, 1}, v.positive[n.Args[0]] && v.positive[n.Args[1]], nil
	case Element:
		if n.Ref < 0 || n.Ref >= first.Size() {
			return Shape{}, false, fmt.Errorf("there is no element %d of %d", n.Ref, first.Size())
		}
		return Shape{1, 1}, v.positive[n.Args[0]], nil
	case Slice:
		size := first.Size()
		if n.Rows < 1 || n.Cols < 1 || n.Ref < 0 || n.Ref > size || n.Rows > size-n.Ref || n.Cols > (size-n.Ref)/n.Rows {
			return Shape{}, false, fmt.Errorf("%d×%d elements from element %d on are not in %d elements", n.Rows, n.Cols, n.Ref, size)
		}
		return Shape{n.Rows, n.Cols}, v.positive[n.Args[0]], nil
	default: // the operation must be Stack
		positive := true
		for _, a := range n.Args {
			if !v.shapes[a].scalar() {
				return Shape{}, false, fmt.Errorf("only scalars can be stacked")
			}
			positive = positive && v.positive[a]
		}
		return Shape{len(n.Args), 1}, positive, nil
	}
}

func positiveUnary(op Op, arg bool) bool {
	switch op {
	case Exp, InvLogit, Softplus, Phi:
		return true
	case Inv, Sqrt, Square, Abs, Log1p, Expm1:
		return arg
	}
	return false
}

func positiveBinary(op Op, a, b bool) bool {
	switch op {
	case Add, Mul, Div, Min:
		return a && b
	case Max:
		return a || b
	}
	return false
}

// usage adds up how much memory and work a program needs: the elements of constants and of shared
// nodes, the bytes for a block of rows, and the multiplications for a record.
type usage struct{ constants, shared, block, work int }

func (u *usage) add(v *Verified, n *Node, t typed) error {
	size := t.shape.Size()
	switch t.phase {
	case Fixed:
		u.constants += size
	case Shared:
		u.shared += size
	default:
		if n.Op == Col {
			break // a column is read in place
		}
		if size > MaxRecordVector {
			return fmt.Errorf("%d elements for each record, at most %d are allowed", size, MaxRecordVector)
		}
		args := len(n.Args)
		if n.Op == Stack {
			args = 1 // each argument of Stack becomes one element of the result
		}
		u.block += 2 * 8 * Block * size * (1 + args)
	}
	u.work += size
	for _, a := range n.Args {
		if opTable[n.Op].form != bridge || n.Op == MatVec || n.Op == Linear {
			u.work += v.shapes[a].Size()
		}
	}
	switch {
	case u.constants > MaxConstants:
		return fmt.Errorf("the constants have more than %d elements", MaxConstants)
	case u.shared > MaxShared:
		return fmt.Errorf("the shared values have more than %d elements", MaxShared)
	case u.block > MaxBlockBytes:
		return fmt.Errorf("a block of records needs more than %d bytes", MaxBlockBytes)
	case t.phase >= Data && t.phase != Shared && u.work > MaxWork:
		return fmt.Errorf("a record takes more than %d operations", MaxWork)
	}
	return nil
}

func (v *Verified) prediction() error {
	q := v.program.Prediction
	if q.Kind == NoPrediction {
		return nil
	}
	if q.Kind >= predictionKinds || q.Node < 0 || q.Node >= len(v.phases) || q.Outcome < 0 || q.Outcome >= len(v.program.Columns) {
		return fmt.Errorf("the prediction names a kind, a node or a column that does not exist")
	}
	if v.phases[q.Node] == Shared || v.program.Columns[q.Outcome].Width() != 1 {
		return fmt.Errorf("the prediction must be of the record phase, and its outcome one number")
	}
	if s := v.shapes[q.Node]; q.Kind != Probabilities && !s.scalar() || !s.vector() {
		return fmt.Errorf("the prediction has %d×%d values", s.Rows, s.Cols)
	}
	if v.program.Dependents(func(n *Node) bool { return n.Op == Col && n.Ref == q.Outcome })[q.Node] {
		return fmt.Errorf("the prediction reads the outcome %q", v.program.Columns[q.Outcome].Name)
	}
	return nil
}

func (p Program) clone() Program {
	c := p
	c.Factors, c.Generated = slices.Clone(p.Factors), slices.Clone(p.Generated)
	c.Columns, c.Parameters, c.Nodes, c.Priors = slices.Clone(p.Columns), slices.Clone(p.Parameters), slices.Clone(p.Nodes), slices.Clone(p.Priors)
	for i := range c.Nodes {
		c.Nodes[i].Args, c.Nodes[i].Values = slices.Clone(c.Nodes[i].Args), slices.Clone(c.Nodes[i].Values)
	}
	for i := range c.Priors {
		c.Priors[i].Args = slices.Clone(c.Priors[i].Args)
	}
	return c
}

func clip(s string) string { return s[:min(len(s), 64)] }
