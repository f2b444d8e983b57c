package gpu

// This file computes the norms of gradients when one record may use a table element more than once.
// A record's contributions to an element are added before they are squared.

// An entry is the number that one leaf adds to a record's gradient with respect to one coordinate.
// A leaf is a place where a record reads shared values.
type entry struct {
	coord int
	value float64
}

// mergeScratch has the gradients of a block's records with respect to the merged components
// (plan.merged). A record uses few coordinates of such a component, so its gradient is a list of
// entries: the coordinates that it uses, with their values.
type mergeScratch struct {
	entries [][]entry // entries of each component; those of record l begin at index l·width of the component
	count   [][]int   // number of different coordinates of each record, by component
	width   []int
}

func newMergeScratch(p *plan) mergeScratch {
	var m mergeScratch
	for _, group := range p.merged {
		width := 0
		for _, f := range group {
			width += gatherWidth(f)
		}
		m.width = append(m.width, width)
		m.entries = append(m.entries, make([]entry, width*block))
		m.count = append(m.count, make([]int, block))
	}
	return m
}

// norm computes each record's gradient with respect to merged component i, and adds the squared
// norm to an element of squared. group has the leaves of the component.
func (m *mergeScratch) norm(n *lanes, ld *laneDraw, w *draw, i int, group []*leaf, squared []float64) {
	for l, row := range n.rows {
		list := m.entries[i][l*m.width[i] : l*m.width[i]]
		for _, f := range group {
			slope := w.leaves[f.index].slope
			width := gatherWidth(f)
			at := int(n.table.Nodes[f.other][row]) * width
			for e := range width {
				a := ld.records.Adjoint[f.node][e*block+l]
				if slope != nil {
					a *= slope[at+e]
				}
				list = merge(list, entry{f.base + at + e, a})
			}
		}
		m.count[i][l] = len(list)
		for _, x := range list {
			squared[l] += x.value * x.value * w.double(x.coord)
			squared[l] += 2 * x.value * w.insideAt(x.coord)
		}
	}
}

// merge adds x to the list's entry for the same coordinate. If there is none, merge appends x.
func merge(list []entry, x entry) []entry {
	for k := range list {
		if list[k].coord == x.coord {
			list[k].value += x.value
			return list
		}
	}
	return append(list, x)
}

func (m *mergeScratch) list(i, l int) []entry {
	from := l * m.width[i]
	return m.entries[i][from : from+m.count[i][l]]
}

func (m *mergeScratch) add(n *lanes, ld *laneDraw, i int) {
	for l := range n.rows {
		for _, x := range m.list(i, l) {
			ld.sum[x.coord] += n.squared[l] * x.value
		}
	}
}
