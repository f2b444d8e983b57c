package model

import (
	"errors"
	"math"
	"slices"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// Predictors computes a number for each record from the record's linear predictors. A linear
// predictor is a weighted sum of coordinates of θ, plus a constant; the weights and the constant
// depend only on the row. If θ is normal, the predictors of a record are jointly normal. Predictors
// is not safe for concurrent use.
type Predictors struct {
	model  *Model
	target int
	given  []int // the nodes whose elements are the predictors
	size   int   // number of predictors per record
	affine []bool
	shared *Shared
}

// Predictors returns the linear predictors that the log density of a record depends on. It returns
// nil if the log density depends on θ in any other way.
func (m *Model) Predictors() *Predictors {
	return m.predictors(m.verified.Program().Likelihood)
}

// Predictors returns the linear predictors that a number of the record depends on. The argument is
// the index of the number in [Generator.RecordNames]. Predictors returns nil if the number depends
// on θ in any other way, or if the quantity is not a single number.
func (g *Generator) Predictors(quantity int) *Predictors {
	of := g.of.model
	for _, one := range g.of.records {
		size := of.verified.Shape(one.Value.node).Size()
		if quantity == 0 && size == 1 {
			return of.predictors(one.Value.node)
		}
		quantity -= size
	}
	return nil
}

func (m *Model) predictors(target int) *Predictors {
	r := &restated{v: m.verified, b: NewBuilder(m.Name()), to: map[int]Expr{}}
	out, err := r.program(target)
	if err != nil {
		return nil
	}
	v := out.verified
	p := &Predictors{model: out, target: v.Program().Generated[0], affine: affine(v), shared: out.Shared()}
	needed := make([]bool, p.target+1)
	needed[p.target] = true
	for i := p.target; i >= 0; i-- {
		switch n := &v.Program().Nodes[i]; {
		case !needed[i] || v.Phase(i) != ir.Record:
		case p.affine[i]:
			p.given, p.size = append(p.given, i), p.size+v.Shape(i).Size()
		default:
			for _, a := range n.Args {
				needed[a] = true
			}
		}
	}
	p.shared.Set(make([]float64, out.Dim()))
	return p
}

// affine finds the nodes that, for a given row, are linear functions of θ. Nodes that do not depend
// on θ count as linear.
func affine(v *ir.Verified) []bool {
	p := v.Program()
	affine := make([]bool, len(p.Nodes))
	fixed := func(i int) bool { return v.Phase(i) == ir.Fixed || v.Phase(i) == ir.Data }
	for i := range p.Nodes {
		n := &p.Nodes[i]
		all := !slices.ContainsFunc(n.Args, func(a int) bool { return !affine[a] })
		switch n.Op {
		case ir.Param:
			affine[i] = p.Parameters[n.Ref].Constraint.Kind == ir.Unconstrained
		case ir.Global, ir.Gather, ir.GatherRow, ir.Linear, ir.Neg, ir.Add, ir.Sub, ir.Sum, ir.Element, ir.Slice, ir.Stack:
			affine[i] = all
		case ir.Mul, ir.Dot, ir.MatVec:
			affine[i] = all && (fixed(n.Args[0]) || fixed(n.Args[1]))
		case ir.Div:
			affine[i] = all && fixed(n.Args[1])
		}
		affine[i] = affine[i] || fixed(i)
	}
	return affine
}

// A restated rewrites a program such that all parameters are unconstrained and a record reads only
// linear functions of them. All other functions of parameters are computed for each record.
type restated struct {
	v      *ir.Verified
	b      *Builder
	affine []bool
	to     map[int]Expr // node of the new program for each node of the old one; see [restated.node]
	own    map[int]Expr // see [restated.ofRecord]
	params []Expr
}

// errNoForm says that a program cannot be rewritten in this form.
var errNoForm = errors.New("the program needs other functions of its parameters")

// program returns the rewritten program, which generates the target for each record.
func (r *restated) program(target int) (m *Model, err error) {
	defer func() {
		if e := recover(); e == errNoForm {
			err = errNoForm
		} else if e != nil {
			panic(e)
		}
	}()
	p := r.v.Program()
	r.affine, r.own = affine(r.v), map[int]Expr{}
	needed := p.Needed(target)
	for _, c := range p.Columns {
		if !c.Integer { // for a real number, the verifier cares about nothing but the sign
			c.Upper = math.Inf(1)
			if !(c.Lower > 0) {
				c.Lower = math.Inf(-1)
			}
		}
		r.b.Column(c)
	}
	unit := r.b.Normal(Normal{SD: 1})
	for _, q := range p.Parameters {
		if q.Constraint.Kind == ir.Simplex {
			q.Rows-- // the number of coordinates
		}
		q.Constraint, q.Entries = Free, ir.Names{}
		r.params = append(r.params, r.b.Parameter(q, unit))
	}
	for i := range p.Nodes {
		if needed[i] && r.v.Phase(i) != ir.Shared {
			r.to[i] = r.node(i)
		}
	}
	number := r.b.ofRecord(r.b.Element(r.params[0], 0)) // a program must have a likelihood, so this is a placeholder
	q, err := r.b.Generate(number, nil, []Quantity{{Name: "target", Value: r.to[target]}})
	if err != nil {
		return nil, err
	}
	return q.model, nil
}

// node translates node i of the old program, which must not be shared.
func (r *restated) node(i int) Expr {
	n := r.v.Program().Nodes[i]
	if r.v.Phase(i) != ir.Record {
		return r.same(n, r.to, r.v.Phase(i))
	}
	table := 0
	if n.Op == ir.Linear {
		table = 1
	}
	t := n.Args[0]
	if len(n.Args) > table {
		t = n.Args[table]
	}
	bridge := n.Op == ir.Global || n.Op == ir.Gather || n.Op == ir.GatherRow || n.Op == ir.Linear || n.Op == ir.MatVec
	switch {
	case n.Op == ir.Draw || n.Op == ir.Invalid:
		panic(errNoForm)
	case !bridge:
		return r.same(n, r.to, ir.Record)
	case n.Op == ir.Global:
		return r.ofRecord(t)
	case r.v.Phase(t) == ir.Fixed || r.affine[t]:
		args := []Expr{r.table(t), r.table(t)}
		args[1-table] = r.to[n.Args[1-table]]
		return r.b.bridge(n.Op, args, table)
	case n.Op == ir.Gather:
		return r.gather(t, r.to[n.Args[1]])
	case n.Op == ir.Linear:
		return r.b.Apply(ir.Dot, r.to[n.Args[0]], r.ofRecord(t))
	}
	panic(errNoForm)
}

// same returns n with its arguments replaced by nodes of the new program.
func (r *restated) same(n ir.Node, to map[int]Expr, phase ir.Phase) Expr {
	args := make([]int, len(n.Args))
	for k, a := range n.Args {
		args[k] = to[a].node
	}
	n.Args = args
	return r.b.node(n, phase)
}

// table translates node i, which is linear and shared or constant, to a table of the new program.
func (r *restated) table(i int) Expr {
	if e, ok := r.to[i]; ok {
		return e
	}
	n := r.v.Program().Nodes[i]
	if n.Op == ir.Param {
		return r.params[n.Ref]
	}
	for _, a := range n.Args {
		r.to[a] = r.table(a)
	}
	r.to[i] = r.same(n, r.to, r.v.Phase(i))
	return r.to[i]
}

// ofRecord translates node i, which is shared or constant, to a value of the record.
func (r *restated) ofRecord(i int) Expr {
	if e, ok := r.own[i]; ok {
		return e
	}
	r.own[i] = r.computed(i)
	return r.own[i]
}

func (r *restated) computed(i int) Expr {
	n := r.v.Program().Nodes[i]
	switch {
	case r.v.Phase(i) == ir.Fixed:
		return r.table(i)
	case r.v.Shape(i).Size() > ir.MaxRecordVector:
		panic(errNoForm)
	case r.affine[i]:
		return r.b.ofRecord(r.table(i))
	case n.Op == ir.Draw:
		panic(errNoForm)
	case n.Op != ir.Param:
		for _, a := range n.Args {
			r.ofRecord(a)
		}
		return r.same(n, r.own, ir.Record)
	}
	c := r.v.Program().Parameters[n.Ref].Constraint
	if c.Kind != ir.Ordered {
		return r.bounded(c, r.b.ofRecord(r.params[n.Ref]))
	}
	var all []Expr
	for k := range r.v.Shape(i).Size() {
		e := r.b.ofRecord(r.b.Element(r.params[n.Ref], k))
		if k > 0 {
			e = r.b.Add(all[k-1], r.b.Apply(ir.Exp, e))
		}
		all = append(all, e)
	}
	return r.b.Apply(ir.Stack, all...)
}

// bounded returns the constrained value for the unconstrained value free.
func (r *restated) bounded(c ir.Constraint, free Expr) Expr {
	add := func(x float64, e Expr) Expr {
		if x == 0 {
			return e
		}
		return r.b.Add(e, r.b.Number(x))
	}
	switch c.Kind {
	case ir.Lower:
		return add(c.Lower, r.b.Apply(ir.Exp, free))
	case ir.Upper:
		return r.b.sub(r.b.Number(c.Upper), r.b.Apply(ir.Exp, free))
	case ir.Both:
		return add(c.Lower, r.b.Mul(r.b.Apply(ir.InvLogit, free), r.b.Number(c.Upper-c.Lower)))
	}
	panic(errNoForm)
}

// gather returns element index of node i, a shared vector that is not linear.
func (r *restated) gather(i int, index Expr) Expr {
	n := r.v.Program().Nodes[i]
	if n.Op == ir.Param {
		if c := r.v.Program().Parameters[n.Ref].Constraint; c.Kind != ir.Ordered {
			return r.bounded(c, r.b.Gather(r.params[n.Ref], index))
		}
	}
	numbers := make([]float64, r.v.Shape(i).Size())
	for k := range numbers {
		numbers[k] = float64(k)
	}
	return r.b.Apply(ir.Dot, r.b.Apply(ir.Equal, r.b.Numbers(numbers...), index), r.ofRecord(i))
}

// Len returns the number of predictors per record.
func (p *Predictors) Len() int { return p.size }

// A PredictedTable holds the rows that [Predictors] works on.
type PredictedTable struct {
	*Predictors
	table   *Table
	records *tape.Records
	rows    []int32
}

// Load prepares rows in the same way as [Model.Load].
func (p *Predictors) Load(rows int, columns [][]float64) (*PredictedTable, error) {
	table, err := p.model.Load(rows, columns)
	if err != nil {
		return nil, err
	}
	return &PredictedTable{p, table, tape.NewGiven(p.shared, table, ir.Block, p.target, p.given), make([]int32, ir.Block)}, nil
}

// Densities writes the target of a row to dst, for several values of the row's predictors. eta
// contains all predictors for the first of these, then all for the second, and so on.
func (t *PredictedTable) Densities(dst []float64, row int, eta []float64) {
	for i := range t.rows {
		t.rows[i] = int32(row)
	}
	for from := 0; from < len(dst); from += ir.Block {
		n := min(ir.Block, len(dst)-from)
		at := 0
		for _, i := range t.given {
			value := t.records.Value[i]
			for e := range len(value) / ir.Block {
				for l := range n {
					value[e*ir.Block+l] = eta[(from+l)*t.size+at]
				}
				at++
			}
		}
		copy(dst[from:], t.records.Forward(t.rows[:n]))
	}
}

// EachTerm calls term for each term of predictor k of a row, with the coordinate of θ and its
// weight. It returns the constant that is added to the terms.
func (t *PredictedTable) EachTerm(row, k int, term func(coordinate int, weight float64)) float64 {
	for _, i := range t.given {
		if size := t.model.verified.Shape(i).Size(); k >= size {
			k -= size
			continue
		}
		f := &formOfRow{t, row, term, 0}
		f.add(i, k, 1)
		return f.constant
	}
	panic("model: there is no such predictor")
}

// A formOfRow adds up the terms of a linear function of θ for one row.
type formOfRow struct {
	*PredictedTable
	row      int
	term     func(coordinate int, weight float64)
	constant float64
}

// number returns element e of node i, which must not depend on θ.
func (f *formOfRow) number(i, e int) float64 {
	size := f.model.verified.Shape(i).Size()
	if size == 1 {
		e = 0
	}
	if f.model.verified.Phase(i) == ir.Fixed {
		return f.shared.Value[i][e]
	}
	return f.table.Nodes[i][f.row*size+e]
}

// add adds weight times element e of node i.
func (f *formOfRow) add(i, e int, weight float64) {
	v := f.model.verified
	n := &v.Program().Nodes[i]
	fixed := func(i int) bool { return v.Phase(i) == ir.Fixed || v.Phase(i) == ir.Data }
	if v.Shape(i).Size() == 1 {
		e = 0
	}
	switch {
	case weight == 0:
	case fixed(i):
		f.constant += weight * f.number(i, e)
	case n.Op == ir.Param:
		f.term(f.shared.Offset(n.Ref)+e, weight)
	case n.Op == ir.Gather || n.Op == ir.GatherRow:
		f.add(n.Args[0], int(f.number(n.Args[1], 0))*v.Shape(i).Size()+e, weight)
	case n.Op == ir.Element || n.Op == ir.Slice:
		f.add(n.Args[0], n.Ref+e, weight)
	case n.Op == ir.Stack:
		f.add(n.Args[e], 0, weight)
	case n.Op == ir.Sum:
		for k := range v.Shape(n.Args[0]).Size() {
			f.add(n.Args[0], k, weight)
		}
	case n.Op == ir.Linear || n.Op == ir.Dot:
		for k := range v.Shape(n.Args[0]).Size() {
			f.product(n.Args[0], k, n.Args[1], k, weight)
		}
	case n.Op == ir.MatVec:
		size := v.Shape(n.Args[1]).Size()
		for k := range size {
			f.product(n.Args[0], e*size+k, n.Args[1], k, weight)
		}
	case n.Op == ir.Mul:
		f.product(n.Args[0], e, n.Args[1], e, weight)
	case n.Op == ir.Div:
		f.add(n.Args[0], e, weight/f.number(n.Args[1], e))
	case n.Op == ir.Neg:
		f.add(n.Args[0], e, -weight)
	default: // the operation must be Global, Add or Sub
		f.add(n.Args[0], e, weight)
		if n.Op == ir.Add {
			f.add(n.Args[1], e, weight)
		} else if n.Op == ir.Sub {
			f.add(n.Args[1], e, -weight)
		}
	}
}

// product adds weight times the product of element j of node a and element k of node b. One of the
// two nodes must not depend on θ.
func (f *formOfRow) product(a, j, b, k int, weight float64) {
	if phase := f.model.verified.Phase(a); phase == ir.Fixed || phase == ir.Data {
		f.add(b, k, weight*f.number(a, j))
		return
	}
	f.add(a, j, weight*f.number(b, k))
}
