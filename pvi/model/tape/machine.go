package tape

import "fedpvi/pvi/model/ir"

// Machine computes selected nodes of a program for several rows at a time, up to its number of
// lanes. Element e of a node's value in lane l is at index e·lanes + l.
type Machine struct {
	v     *ir.Verified
	nodes []ir.Node
	lanes int
	// Value and Adjoint have a slice for each node. The slice is nil if the machine does not
	// need the node's values or adjoints.
	Value, Adjoint [][]float64
	// partial has the derivatives of each density node with respect to each of its arguments.
	partial [][][]float64
	kernel  []func(*term, *scratch)
	order   []int // indices of the computed nodes, in order
	size    []int
	// uniform is true for nodes that have equal values in all lanes.
	uniform []bool
	// active is true for nodes that have adjoints.
	active               []bool
	work, scratch, third []float64 // scratch space for one element in all lanes
	// settled[i][k] is true if the adjoint of argument k of node i needs no backward pass of
	// node i. settled[i] is nil if there is no such argument.
	settled [][]bool
	// normals has standard normal numbers for the draws, ofLane numbers for each lane. Those of node
	// i begin at number firstNormal[i] of a lane. The numbers are 0 until [Machine.Normals] is used.
	normals     []float64
	ofLane      int
	firstNormal []int
	// These variables are fields because the compiler would allocate local variables on the
	// heap.
	term      term
	temporary scratch
}

// newMachine returns a machine that computes each node i for which compute(i) is true. It keeps the
// values of a node if hold(i) is true, and the adjoints if active(i) is true.
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
	m.planDraws()
	return m
}

// partials allocates slices for the derivatives of density node i with respect to its active
// arguments.
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

func (m *Machine) spread(i int, values []float64) {
	dst := m.Value[i]
	for e, x := range values {
		lane := dst[e*m.lanes : (e+1)*m.lanes]
		for l := range lane {
			lane[l] = x
		}
	}
}

// lane returns the first n lanes of element e of buffer b. If b has only one element, it returns
// the lanes of that element.
func (m *Machine) lane(b []float64, size, e, n int) []float64 {
	if size == 1 {
		e = 0
	}
	return b[e*m.lanes : e*m.lanes+n : e*m.lanes+n]
}
