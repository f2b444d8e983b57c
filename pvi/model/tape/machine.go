package tape

import "fedpvi/pvi/model/ir"

// Machine computes selected nodes of a program for several rows at a time, up to its number of
// lanes. Element e of a node's value in lane l is at index e·lanes + l.
type Machine struct {
	v     *ir.Verified
	nodes []ir.Node
	lanes int
	// Value and Adjoint have a buffer for each node. The buffer is nil for nodes that the
	// machine does not hold.
	Value, Adjoint [][]float64
	// partial has the derivatives of each density node, one for each argument.
	partial [][][]float64
	kernel  []func(*term, *scratch)
	order   []int // indices of the computed nodes, in order
	size    []int
	// uniform is true for nodes whose lanes are all equal.
	uniform []bool
	// active is true for nodes that have adjoints.
	active               []bool
	work, scratch, third []float64 // scratch space for one element in all lanes
	// settled is true, for a node and an argument, if the adjoint of the argument is computed
	// without the node's backward pass. It is nil for a node without such arguments.
	settled [][]bool
	// term and temporary are fields because local variables would be allocated on the heap.
	term      term
	temporary scratch
}

// newMachine returns a machine that has buffers for the nodes that hold selects, and computes
// the nodes that compute selects. Nodes that active selects have adjoints.
func newMachine(v *ir.Verified, lanes int, hold, compute, active func(i int) bool) *Machine {
	p := v.Program()
	n := len(p.Nodes)
	m := &Machine{
		v: v, nodes: p.Nodes, lanes: lanes,
		Value: make([][]float64, n), Adjoint: make([][]float64, n), partial: make([][][]float64, n),
		kernel: make([]func(*term, *scratch), n), size: make([]int, n), uniform: make([]bool, n), active: make([]bool, n),
		settled: make([][]bool, n),
		work:    make([]float64, lanes), scratch: make([]float64, lanes), third: make([]float64, lanes),
	}
	for i := range p.Nodes {
		m.size[i] = v.Shape(i).Size()
		m.uniform[i] = v.Phase(i) == ir.Fixed || p.Nodes[i].Op == ir.Global
		if !hold(i) {
			continue
		}
		m.Value[i] = make([]float64, m.size[i]*lanes)
		if active(i) {
			m.active[i] = true
			m.Adjoint[i] = make([]float64, m.size[i]*lanes)
		}
		if compute(i) {
			m.order = append(m.order, i)
		}
		if p.Nodes[i].Op == ir.Const {
			m.spread(i, p.Nodes[i].Values)
		}
	}
	for _, i := range m.order {
		if p.Nodes[i].Op == ir.DensityOp {
			m.partial[i] = m.partials(i)
			m.kernel[i] = kernels[ir.Density(p.Nodes[i].Ref)]
		}
	}
	return m
}

// partials allocates buffers for the derivatives of a density in its active arguments.
func (m *Machine) partials(i int) [][]float64 {
	args := m.nodes[i].Args
	out := make([][]float64, len(args))
	for k, a := range args {
		if m.active[a] {
			out[k] = make([]float64, max(m.size[i], m.size[a])*m.lanes)
		}
	}
	return out
}

// spread writes values into all lanes of node i.
func (m *Machine) spread(i int, values []float64) {
	dst := m.Value[i]
	for e, x := range values {
		lane := dst[e*m.lanes : (e+1)*m.lanes]
		for l := range lane {
			lane[l] = x
		}
	}
}

// lane returns the first n lanes of element e of buffer b. If size is 1, it returns those of the
// only element.
func (m *Machine) lane(b []float64, size, e, n int) []float64 {
	if size == 1 {
		e = 0
	}
	return b[e*m.lanes : e*m.lanes+n : e*m.lanes+n]
}
