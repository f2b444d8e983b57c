package gpu

import (
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// This file computes the squared norm of a record's gradient, for model components with a single
// leaf. A leaf is a place where the record program reads a table of shared values. Let a be the
// adjoint of the value that the leaf returns, which is the derivative of the log density with
// respect to this value. If the leaf returns elements of the table, the squared norm is Σa². If the
// leaf returns the product of the table and a vector x of the row, the squared norm is Σa²·|x|².
// Weights that differ from 1 multiply the squares. If the query adds a vector before the clip
// (Query.Inside), the cross terms 2·gradient·vector are added.

func (n *lanes) aloneNorm(ld *laneDraw, w *leafWeights, f *leaf, squared []float64) {
	switch f.op {
	case ir.Global:
		n.globalNorm(ld, w, f, squared)
	case ir.Gather, ir.GatherRow:
		n.gatherNorm(ld, w, f, squared)
	default:
		if f.onTable {
			n.rowNorm(ld, w, f, squared)
		} else {
			n.outerNorm(ld, w, f, squared)
		}
	}
}

func (n *lanes) globalNorm(ld *laneDraw, w *leafWeights, f *leaf, squared []float64) {
	for e := range f.size() {
		a := lane(ld.records.Adjoint[f.node], e, len(squared))
		weight := 1.
		if w.norm != nil {
			weight = w.norm[e]
		}
		for l, x := range a {
			squared[l] += x * x * weight
		}
		if w.cross != nil {
			for l, x := range a {
				squared[l] += 2 * x * w.cross[e]
			}
		}
	}
}

func (n *lanes) gatherNorm(ld *laneDraw, w *leafWeights, f *leaf, squared []float64) {
	width := gatherWidth(f)
	index := n.table.Nodes[f.other]
	for e := range width {
		a := lane(ld.records.Adjoint[f.node], e, len(squared))
		if w.norm == nil && w.cross == nil {
			for l, x := range a {
				squared[l] += x * x
			}
			continue
		}
		for l, row := range n.rows {
			at := int(index[row])*width + e
			weight := 1.
			if w.norm != nil {
				weight = w.norm[at]
			}
			squared[l] += a[l] * a[l] * weight
			if w.cross != nil {
				squared[l] += 2 * a[l] * w.cross[at]
			}
		}
	}
}

// gatherWidth returns the number of table elements that a record reads at a leaf whose operation is
// Gather or GatherRow.
func gatherWidth(f *leaf) int {
	if f.op == ir.Gather {
		return 1
	}
	return f.cols
}

// rowNorm adds, for each record of the block, the squared norm of the gradient with respect to a
// table. The table multiplies a vector of the record's row. Each record has its own element of
// squared.
func (n *lanes) rowNorm(ld *laneDraw, w *leafWeights, f *leaf, squared []float64) {
	x, squares := n.table.Nodes[f.other], n.table.Squares[f.other]
	for r := range f.rows {
		a := lane(ld.records.Adjoint[f.node], r, len(squared))
		if w.norm == nil && w.cross == nil {
			for l, row := range n.rows {
				squared[l] += a[l] * a[l] * squares[row]
			}
			continue
		}
		from, to := r*f.cols, (r+1)*f.cols
		for l, row := range n.rows {
			v := x[int(row)*f.cols : int(row+1)*f.cols]
			s := squares[row]
			if w.norm != nil {
				s = weightedSquares(v, w.norm[from:to])
			}
			squared[l] += a[l] * a[l] * s
			if w.cross != nil {
				squared[l] += 2 * a[l] * tape.Dot(v, w.cross[from:to])
			}
		}
	}
}

// outerNorm adds, for each record of the block, the squared norm of the gradient with respect to a
// table. The table multiplies a vector that the program computes for each record. Each record has
// its own element of squared.
func (n *lanes) outerNorm(ld *laneDraw, w *leafWeights, f *leaf, squared []float64) {
	k := len(squared)
	value := ld.records.Value[f.other]
	for r := range f.rows {
		a := lane(ld.records.Adjoint[f.node], r, k)
		for j := range f.cols {
			x, at := lane(value, j, k), r*f.cols+j
			weight := 1.
			if w.norm != nil {
				weight = w.norm[at]
			}
			for l := range squared {
				g := a[l] * x[l]
				squared[l] += g * g * weight
			}
			if w.cross != nil {
				for l := range squared {
					squared[l] += 2 * a[l] * x[l] * w.cross[at]
				}
			}
		}
	}
}

func (n *lanes) aloneAdd(ld *laneDraw, f *leaf) {
	sum := ld.sum[f.base : f.base+f.size()]
	switch f.op {
	case ir.Global:
		for e := range sum {
			sum[e] += tape.Dot(lane(ld.records.Adjoint[f.node], e, len(n.rows)), n.squared[:len(n.rows)])
		}
	case ir.Gather, ir.GatherRow:
		width, index := gatherWidth(f), n.table.Nodes[f.other]
		for e := range width {
			scaled := n.scale(lane(ld.records.Adjoint[f.node], e, len(n.rows)))
			for l, row := range n.rows {
				sum[int(index[row])*width+e] += scaled[l]
			}
		}
	default:
		for r := range f.rows {
			scaled := n.scale(lane(ld.records.Adjoint[f.node], r, len(n.rows)))
			part := sum[r*f.cols : (r+1)*f.cols]
			if f.onTable {
				addRows(part, scaled, n.table.Nodes[f.other], n.rows)
				continue
			}
			for j := range part {
				part[j] += tape.Dot(scaled, lane(ld.records.Value[f.other], j, len(n.rows)))
			}
		}
	}
}
