package tape

import "fedpvi/pvi/model/ir"

// Machine computes some nodes of a program for a limited number of rows at a time, one in each
// lane. Element e of a node's value in lane l is at index e·lanes + l.
type Machine struct {
	v     *ir.Verified
	nodes []ir.Node
	lanes int
	// Value and Adjoint have a slice for each node, which is nil if the machine does not keep the
	// node's values or adjoints.
	Value, Adjoint [][]float64
	// partial[i][k] holds the derivatives of density node i with respect to its argument k.
	partial [][][]float64
	kernel  []func(*term, *scratch)
	order   []int // indices of the nodes to compute, in increasing order
	size    []int
	// uniform marks nodes whose values are equal in all lanes.
	uniform []bool
	// active marks nodes that have adjoints.
	active               []bool
	work, scratch, third []float64 // scratch space for one element per lane
	// settled[i][k] is true if argument k of node i gets its adjoint without a backward step.
	// settled[i] may be nil.
	settled [][]bool
	// normals holds the standard normal numbers for draws, ofLane of them per lane. Those of node i
	// begin at index firstNormal[i] within a lane. All are 0 until the caller sets them
	// ([Machine.Normals]).
	normals     []float64
	ofLane      int
	firstNormal []int
	// As local variables, term and temporary would be allocated on the heap.
	term      term
	temporary scratch
}

// newMachine returns a machine with the given number of lanes. It computes the nodes for which
// compute is true, and keeps the values of those for which hold is true. If active is true as well,
// it also keeps their adjoints.
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

// partials allocates slices for the derivatives of density node i with respect to those arguments
// that have adjoints.
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

// lane returns element e of the buffer b in the first n lanes. The buffer has size elements. If
// size is 1, lane returns the only element for every e.
func (m *Machine) lane(b []float64, size, e, n int) []float64 {
	if size == 1 {
		e = 0
	}
	return b[e*m.lanes : e*m.lanes+n : e*m.lanes+n]
}
