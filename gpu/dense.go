package gpu

import (
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// denseLanes holds the gradients of a block of records with respect to the coordinates of a dense
// component (see [denseLayout]). It has one gradient for each record and coordinate.
type denseLanes struct {
	grad []float64 // gradients, with a row for each coordinate and a column for each record
	// for each record, the adjoints of the elements of the tables that have a Jacobian
	tables []float64
}

// form computes the gradients of a component's records with respect to the component's coordinates.
// If each element of a leaf's table depends on a single coordinate, form multiplies the adjoints by
// the derivatives of the elements and adds them to the gradients. Otherwise it first adds up the
// adjoints for each element of the table, and then multiplies the sums by the Jacobian.
func (d *denseLanes) form(n *lanes, ld *laneDraw, w *draw, c *denseLayout, dw *denseWeights) {
	clear(d.grad)
	clear(d.tables)
	for k, f := range c.leaves {
		if t := c.of[k]; t >= 0 {
			n.spread(ld, f, nil, d.tables[c.start[t]*block:])
		} else {
			n.spread(ld, f, w.leaves[f.index].slope, d.grad[c.local[k]*block:])
		}
	}
	coords, k := len(c.coords), len(n.rows)
	for e := range c.size {
		g := lane(d.tables, e, k)
		for j, s := range dw.jacobian[e*coords : (e+1)*coords] {
			if s == 0 {
				continue
			}
			dst := lane(d.grad, j, k)
			for l := range dst {
				dst[l] += s * g[l]
			}
		}
	}
}

// spread adds the gradients of the block's records at the leaf f to dst. It multiplies them by
// slope, which has ∂element/∂coordinate for each element of the leaf's table. If slope is nil, all
// these derivatives are 1.
func (n *lanes) spread(ld *laneDraw, f *leaf, slope, dst []float64) {
	k := len(n.rows)
	adj := ld.records.Adjoint[f.node]
	put := func(at int, l int, x float64) {
		if slope != nil {
			x *= slope[at]
		}
		dst[at*block+l] += x
	}
	switch f.op {
	case ir.Global:
		for e := range f.size() {
			for l, a := range lane(adj, e, k) {
				put(e, l, a)
			}
		}
	case ir.Gather, ir.GatherRow:
		width := gatherWidth(f)
		for l, row := range n.rows {
			at := int(n.table.Nodes[f.other][row]) * width
			for e := range width {
				put(at+e, l, adj[e*block+l])
			}
		}
	default:
		for r := range f.rows {
			for j := range f.cols {
				for l, row := range n.rows {
					put(r*f.cols+j, l, adj[r*block+l]*n.factorOf(ld, f, row, j, l))
				}
			}
		}
	}
}

// factorOf returns the factor with which a record multiplies the table at the leaf f: element j of
// the record's vector there. row is the record's row in the table of records, and l is its position
// in the block.
func (n *lanes) factorOf(ld *laneDraw, f *leaf, row int32, j, l int) float64 {
	if f.onTable {
		return n.table.Nodes[f.other][int(row)*f.cols+j]
	}
	return ld.records.Value[f.other][j*block+l]
}

func (d *denseLanes) norm(w *denseWeights, squared []float64) {
	for j := range len(d.grad) / block {
		weight, cross := 1., 0.
		if w.norm != nil {
			weight = w.norm[j]
		}
		if w.cross != nil {
			cross = 2 * w.cross[j]
		}
		for l, x := range lane(d.grad, j, len(squared)) {
			squared[l] += x*x*weight + x*cross
		}
	}
}

func (d *denseLanes) add(n *lanes, ld *laneDraw, c *denseLayout) {
	for j, coord := range c.coords {
		ld.sum[coord] += tape.Dot(n.squared[:len(n.rows)], lane(d.grad, j, len(n.rows)))
	}
}
