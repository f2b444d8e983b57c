package tape

import (
	"fmt"
	"math"

	"fedpvi/pvi/model/ir"
)

// Table is a shard prepared for a program. It includes computed values that depend only on a row.
type Table struct {
	Rows int
	// Nodes[i] holds the values of node i, row after row. It is nil if records do not need them.
	Nodes [][]float64
	// Squares[i] holds |x|² for each row if node i is a vector x that is multiplied by a table. In all
	// other cases it is nil.
	Squares [][]float64
}

// Load checks rows against the program's columns, and computes all values that depend only on a
// row. columns[k] has the values of column k, row after row. If a value lies outside the public
// bounds, Load returns an error with the name of the column, but without the value, which is
// private. A NaN in a column of real numbers marks a record that is left out and adds zero to every
// sum.
func Load(v *ir.Verified, rows int, columns [][]float64) (*Table, error) {
	p := v.Program()
	if len(columns) != len(p.Columns) {
		return nil, fmt.Errorf("%d columns of data for the %d columns of %s", len(columns), len(p.Columns), p.Name)
	}
	for k, c := range p.Columns {
		if err := checkColumn(&c, rows, columns[k]); err != nil {
			return nil, err
		}
	}
	t := &Table{Rows: rows, Nodes: make([][]float64, len(p.Nodes)), Squares: make([][]float64, len(p.Nodes))}
	needed := frontier(v)
	for i := range p.Nodes {
		if needed[i] {
			t.Nodes[i] = make([]float64, rows*v.Shape(i).Size())
		}
	}
	t.fill(v, columns)
	for _, n := range p.Nodes {
		x := -1
		switch n.Op {
		case ir.Linear:
			x = n.Args[0]
		case ir.MatVec:
			x = n.Args[1]
		}
		if x >= 0 && t.Nodes[x] != nil && t.Squares[x] == nil {
			t.Squares[x] = squares(t.Nodes[x], rows, v.Shape(x).Size())
		}
	}
	return t, nil
}

func checkColumn(c *ir.Column, rows int, values []float64) error {
	if len(values) != rows*c.Width() {
		return fmt.Errorf("column %q has %d values, want %d rows of %d", c.Name, len(values), rows, c.Width())
	}
	for _, x := range values {
		switch {
		case math.IsNaN(x) && !c.Integer:
			continue
		case math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Errorf("column %q has a value that is not finite", c.Name)
		case x < c.Lower || x > c.Upper:
			return fmt.Errorf("column %q has a value outside its public bounds %g..%g", c.Name, c.Lower, c.Upper)
		case c.Integer && x != math.Trunc(x):
			return fmt.Errorf("column %q has a value that is not an integer", c.Name)
		}
	}
	return nil
}

// frontier finds the nodes that depend only on a row and are used by a node of a record, by the
// prediction, or by a generated quantity.
func frontier(v *ir.Verified) []bool {
	p := v.Program()
	needed := make([]bool, len(p.Nodes))
	for i, n := range p.Nodes {
		if v.Phase(i) != ir.Record {
			continue
		}
		for _, a := range n.Args {
			needed[a] = needed[a] || v.Phase(a) == ir.Data
		}
	}
	if q := p.Prediction; q.Kind != ir.NoPrediction && v.Phase(q.Node) == ir.Data {
		needed[q.Node] = true
	}
	for _, i := range p.Generated {
		needed[i] = needed[i] || v.Phase(i) == ir.Data
	}
	return needed
}

// fill computes all values that t stores, block by block.
func (t *Table) fill(v *ir.Verified, columns [][]float64) {
	p := v.Program()
	used, copied := make([]bool, len(p.Nodes)), make([]bool, len(p.Nodes))
	for i, values := range t.Nodes {
		used[i] = values != nil
	}
	inputs(v, ir.Data, used, copied, nil)
	hold := func(i int) bool { return used[i] && (v.Phase(i) == ir.Data || copied[i]) }
	compute := func(i int) bool { return v.Phase(i) == ir.Data }
	f := &filler{newMachine(v, min(ir.Block, max(t.Rows, 1)), hold, compute, func(int) bool { return false }), NewShared(v), columns}
	for i := range p.Nodes {
		if hold(i) && v.Phase(i) == ir.Fixed {
			f.spread(i, f.shared.Value[i])
		}
	}
	for from := 0; from < t.Rows; from += f.lanes {
		n := min(f.lanes, t.Rows-from)
		for _, i := range f.order {
			f.compute(i, from, n)
			if t.Nodes[i] != nil {
				f.store(t.Nodes[i][from*f.size[i]:], i, n)
			}
		}
	}
}

// A filler computes nodes that depend only on a row, for blocks of rows.
type filler struct {
	*Machine
	shared  *Shared
	columns [][]float64
}

// compute computes node i for n rows, the first of which is row number first.
func (f *filler) compute(i, first, n int) {
	node := &f.nodes[i]
	out, size := f.Value[i], f.size[i]
	switch node.Op {
	case ir.Col:
		for l := range n {
			for e, x := range f.columns[node.Ref][(first+l)*size : (first+l+1)*size] {
				out[e*f.lanes+l] = x
			}
		}
	case ir.Gather, ir.GatherRow:
		for l := range n {
			k := int(f.Value[node.Args[1]][l])
			for e, x := range f.shared.Value[node.Args[0]][k*size : (k+1)*size] {
				out[e*f.lanes+l] = x
			}
		}
	case ir.Linear, ir.MatVec:
		f.product(i, n)
	default:
		f.forward(i, n)
	}
}

// product computes node i, the product of a table and a vector, for n rows.
func (f *filler) product(i, n int) {
	table, x := f.nodes[i].Args[0], f.nodes[i].Args[1]
	if f.nodes[i].Op == ir.Linear {
		table, x = x, table
	}
	row := make([]float64, f.size[x])
	for l := range n {
		for e := range row {
			row[e] = f.Value[x][e*f.lanes+l]
		}
		for e := range f.size[i] {
			f.Value[i][e*f.lanes+l] = Dot(f.shared.Value[table][e*len(row):], row)
		}
	}
}

// store writes the values of node i for n rows to dst, row after row.
func (f *filler) store(dst []float64, i, n int) {
	size := f.size[i]
	for e := range size {
		for l, x := range f.lane(f.Value[i], size, e, n) {
			dst[l*size+e] = x
		}
	}
}

func squares(values []float64, rows, size int) []float64 {
	out := make([]float64, rows)
	for r := range out {
		row := values[r*size : (r+1)*size]
		out[r] = Dot(row, row)
	}
	return out
}
