package gpu

// This file computes norms for records that may use several elements of one table, or one
// element twice. Contributions of a record to the same element are added before they are
// squared.

// entry is the part of a record's gradient with respect to one coordinate that comes from one
// leaf, a place where the program reads a shared value.
type entry struct {
	coord int
	value float64
}

// mergeScratch contains the entries of a block, for each merged component and each record.
type mergeScratch struct {
	entries [][]entry // entries of record l begin at index l·width of the component
	count   [][]int   // number of different coordinates, for each record
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

// norm computes the gradients of component i for every record of the block, and adds their
// squared norms to squared. The argument group contains the leaves of the component.
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

// merge adds x to the entry of the same coordinate in a record's list, or appends x if the
// list has no such entry.
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

func (m *mergeScratch) add(n *lanes, ld *laneDraw, i int, _ []*leaf) {
	for l := range n.rows {
		for _, x := range m.list(i, l) {
			ld.sum[x.coord] += n.squared[l] * x.value
		}
	}
}
