package tape

import "fedpvi/pvi/model/ir"

// Machine computes selected nodes of a program for at most lanes rows at a time. Element e of a
// node's value in lane l is at index e·lanes + l.
type Machine struct {
	v     *ir.Verified
	nodes []ir.Node
	lanes int
	// Value and Adjoint have a slice for each node, or nil where the machine does not keep it.
	Value, Adjoint [][]float64
	// partial[i][k] has the derivatives of density node i in its argument k.
	partial [][][]float64
	kernel  []func(*term, *scratch)
	order   []int // indices of the nodes that are computed, in increasing order
	size    []int
	// uniform marks nodes with equal values in all lanes.
	uniform []bool
	// active is true for each node that has adjoints.
	active               []bool
	work, scratch, third []float64 // scratch space for one element in all lanes
	// settled[i][k] is true if the adjoint of argument k of node i needs no backward step.
	// settled[i] may be nil.
	settled [][]bool
	// normals holds the standard normal numbers for draws, ofLane for each lane. Those of node i
	// begin at firstNormal[i] within a lane. They are 0 until the caller sets them
	// ([Machine.Normals]).
	normals     []float64
	ofLane      int
	firstNormal []int
	// term and temporary would be allocated on the heap as local variables.
	term      term
	temporary scratch
}

// newMachine returns a machine with the given number of lanes. It computes node i if compute(i) is
// true, and keeps its values if hold(i) is true. If active(i) is true as well, it keeps its
// adjoints.
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

// partials allocates the derivatives of density node i in the arguments that have adjoints.
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

// lane returns element e of b, a buffer of size elements, in the first n lanes. If size is 1, it
// returns the only element for every e.
func (m *Machine) lane(b []float64, size, e, n int) []float64 {
	if size == 1 {
		e = 0
	}
	return b[e*m.lanes : e*m.lanes+n : e*m.lanes+n]
}
