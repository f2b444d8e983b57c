package tape

import (
	"fmt"
	"math"

	"fedpvi/pvi/model/ir"
)

// Table is a shard prepared for a program. For every row it has those values that depend on the row
// only and that the program needs.
type Table struct {
	Rows int
	// Nodes[i] has the values of node i for all rows, row after row. It is nil if the program does
	// not need the values of node i for its records.
	Nodes [][]float64
	// Squares[i] has |x|² for every row, where x is node i, if x is multiplied by a table.
	// Otherwise it is nil.
	Squares [][]float64
}

// Load checks rows against the program's columns and computes all values that depend only on one
// row. columns[k] has the values of column k for all rows, row after row. Load returns an error if
// a value is outside the public bounds. The error names the column but not the value, which is
// private. Load accepts a NaN in a column of real numbers: it marks a record that was left out,
// which adds zero to every sum.
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

// frontier reports, for each node that depends on a row only, whether records, the prediction or
// generated quantities use the node's values.
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

func (t *Table) fill(v *ir.Verified, columns [][]float64) {
	p := v.Program()
	shared := NewShared(v)
	hold := func(i int) bool { return v.Phase(i) == ir.Fixed || v.Phase(i) == ir.Data }
	compute := func(i int) bool { return v.Phase(i) == ir.Data }
	m := newMachine(v, 1, hold, compute, func(int) bool { return false })
	for i := range p.Nodes {
		if v.Phase(i) == ir.Fixed {
			copy(m.Value[i], shared.Value[i])
		}
	}
	for row := range t.Rows {
		for _, i := range m.order {
			switch n := &p.Nodes[i]; n.Op {
			case ir.Col:
				copy(m.Value[i], columns[n.Ref][row*m.size[i]:])
			case ir.Gather, ir.GatherRow:
				k := int(m.Value[n.Args[1]][0])
				copy(m.Value[i], m.Value[n.Args[0]][k*m.size[i]:])
			case ir.Linear, ir.MatVec:
				m.fixedProduct(i)
			default:
				m.forward(i, 1)
			}
			if t.Nodes[i] != nil {
				copy(t.Nodes[i][row*m.size[i]:], m.Value[i])
			}
		}
	}
}

func (m *Machine) fixedProduct(i int) {
	table, x := m.nodes[i].Args[0], m.nodes[i].Args[1]
	if m.nodes[i].Op == ir.Linear {
		table, x = x, table
	}
	for r := range m.Value[i] {
		m.Value[i][r] = Dot(m.Value[table][r*m.size[x]:], m.Value[x])
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
