package gpu

import (
	"math"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// materialised is a simple evaluator that serves as the reference in tests. It computes the
// gradient of one record at a time with respect to all tables, and maps it to θ.
type materialised struct {
	m       *model.Model
	table   *model.Table
	shared  *model.Shared
	records *tape.Records
	seed    [][]float64
}

func newMaterialised(m *model.Model, table *model.Table) *materialised {
	e := &materialised{m: m, table: table, shared: m.Shared()}
	p := m.Verified().Program()
	e.records = tape.NewRecords(e.shared, table, 1, p.Likelihood, true)
	e.seed = make([][]float64, len(p.Nodes))
	return e
}

// gradient returns the log density of a row and its gradient with respect to θ, which the caller
// has set in e.shared.
func (e *materialised) gradient(row int32) (float64, []float64) {
	e.records.Begin()
	value := e.records.Forward([]int32{row})[0]
	e.records.Backward()
	p := e.m.Verified().Program()
	clear(e.seed)
	for i, n := range p.Nodes {
		if adj := e.records.Adjoint[i]; adj != nil {
			e.add(&n, adj, int(row))
		}
	}
	grad := make([]float64, e.m.Dim())
	e.shared.Pull(grad, func(i int) []float64 { return e.seed[i] })
	return value, grad
}

// add adds a node's contribution to the gradient with respect to the node's table.
func (e *materialised) add(n *ir.Node, adj []float64, row int) {
	t := 0
	switch n.Op {
	case ir.Global, ir.Gather, ir.GatherRow, ir.MatVec:
		t = n.Args[0]
	case ir.Linear:
		t = n.Args[1]
	default:
		return
	}
	if e.seed[t] == nil {
		e.seed[t] = make([]float64, e.m.Verified().Shape(t).Size())
	}
	dst := e.seed[t]
	row0 := func(node, size int) []float64 { return e.table.Nodes[node][row*size : (row+1)*size] }
	switch n.Op {
	case ir.Global:
	case ir.Gather, ir.GatherRow:
		dst = dst[int(e.table.Nodes[n.Args[1]][row])*len(adj):]
	case ir.Linear:
		for j, x := range row0(n.Args[0], len(dst)) {
			dst[j] += adj[0] * x
		}
		return
	case ir.MatVec:
		x := n.Args[1]
		v := e.records.Value[x]
		if e.m.Verified().Phase(x) == ir.Data {
			v = row0(x, e.m.Verified().Shape(x).Size())
		}
		for r, a := range adj {
			for j, x := range v {
				dst[r*len(v)+j] += a * x
			}
		}
		return
	}
	for k, a := range adj {
		dst[k] += a
	}
}

// contribution returns a record's clipped contribution g, and its log density averaged over the
// draws. ok is false if a number is not finite.
func (e *materialised) contribution(q *Query, row int32) (value float64, g []float64, ok bool) {
	for k, theta := range q.Draws {
		e.shared.Set(theta)
		v, grad := e.gradient(row)
		value += v / float64(len(q.Draws))
		g = append(g, grad...)
		if q.Joint != nil {
			for j, x := range grad {
				g = append(g, x*q.Joint[k][j])
			}
		}
	}
	squared := 0.
	for j := range g {
		if q.Inside != nil {
			g[j] += q.Inside[j]
		}
		squared += g[j] * g[j]
	}
	c := factor(squared, q.Clip)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		c = 0
	}
	for j := range g {
		if g[j] *= c; c == 0 {
			g[j] = 0
		}
	}
	return value, g, c != 0
}

func (e *materialised) batch(q *Query) []int32 {
	if q.Batch != nil {
		return q.Batch
	}
	all := make([]int32, e.table.Rows)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// sum returns the sum of a query, and its totals.
func (e *materialised) sum(q *Query) (dst []float64, total Total) {
	dst = make([]float64, q.Size(e.m.Dim()))
	for _, row := range e.batch(q) {
		value, g, ok := e.contribution(q, row)
		if !ok {
			total.Refused++
			continue
		}
		total.LogDensity += value
		for j := range dst {
			dst[j] += g[j]
		}
	}
	return dst, total
}
