package tape

import (
	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

// planDraws assigns a standard normal number in a lane to each element of each draw. The assignment
// is the same in every [Machine] of a program, no matter which nodes that machine computes. Shared
// draws are numbered separately.
func (m *Machine) planDraws() {
	var count [2]int // numbers of shared draws and of draws of records
	for i := range m.nodes {
		if n := &m.nodes[i]; n.Op == ir.Draw {
			if m.firstNormal == nil {
				m.firstNormal = make([]int, len(m.nodes))
			}
			m.firstNormal[i] = count[n.Rows]
			count[n.Rows] += m.size[i]
		}
	}
	for _, i := range m.order {
		if n := &m.nodes[i]; n.Op == ir.Draw {
			m.ofLane = count[n.Rows]
		}
	}
	m.normals = make([]float64, m.ofLane*m.lanes)
}

// Normals returns the slice with the numbers that draws are computed from, lane after lane. The
// caller must fill it with independent standard normal numbers.
func (m *Machine) Normals() []float64 { return m.normals }

// draw computes the random numbers of node i in the first n lanes. For a standard normal number z,
// it returns the Φ(z)-quantile of the node's law.
func (m *Machine) draw(i, n int) {
	node := &m.nodes[i]
	a, b := node.Args[0], node.Args[len(node.Args)-1]
	for e := range m.size[i] {
		dst, first := m.lane(m.Value[i], m.size[i], e, n), m.lane(m.Value[a], m.size[a], e, n)
		second := m.lane(m.Value[b], m.size[b], e, n)
		for l := range dst {
			z := m.normals[l*m.ofLane+m.firstNormal[i]+e]
			switch ir.Law(node.Cols) {
			case ir.NormalLaw:
				dst[l] = first[l] + second[l]*z
			case ir.GammaLaw:
				dst[l] = special.GammaQuantile(first[l], z) / second[l]
			case ir.PoissonLaw:
				dst[l] = special.PoissonQuantile(first[l], z)
			case ir.BinomialLaw:
				dst[l] = special.BinomialQuantile(first[l], second[l], z)
			}
		}
	}
}
