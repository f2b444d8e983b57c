package gpu

import (
	"fedpvi/internal/guard"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

const block = ir.Block

// A lanes computes the log densities and clipped gradients of a batch, one block of rows at a time.
// Within its buffers, the elements that belong to one row are called a lane. Each strip of a batch
// has its own lanes.
type lanes struct {
	p       *plan
	table   *model.Table
	draws   []laneDraw
	rows    []int32
	squared [block]float64 // at first the squared norms of contributions, later the clip factors of the records
	value   [block]float64
	scaled  [block]float64
	all     [block]int32 // row numbers of the block when the batch has all rows
	weight  float64      // sum of the clip factors of the records added so far
	// If unbounded is true, only the sink clips contributions, so no norms are computed. Then an
	// infinite norm is no reason to refuse a record.
	unbounded bool
	total     Total
}

// laneDraw is the state of lanes for one draw of θ.
type laneDraw struct {
	records *tape.Records
	fused   *glmLanes // fused kernel; nil if package tape evaluates the program
	dense   []denseLanes
	merge   mergeScratch
	sum     []float64 // sum of the records' gradients, with one element for each coordinate of θ
	// scrubbed is true after scrub has set values to zero. Blocks may share some of these values,
	// so run computes them again before the next block.
	scrubbed bool
}

func newLaneDraw(p *plan, table *model.Table, w *draw) laneDraw {
	r := tape.NewRecords(w.shared, table, block, p.m.Verified().Program().Likelihood, true)
	ld := laneDraw{records: r, sum: make([]float64, p.d), merge: newMergeScratch(p)}
	for _, c := range p.dense {
		ld.dense = append(ld.dense, denseLanes{make([]float64, len(c.coords)*block), make([]float64, c.size*block)})
	}
	if !p.generic {
		ld.fused = newGLMLanes(p.m, table, w.shared, r)
	}
	return ld
}

// begin sets the sums and totals to zero and reads the shared values of the draws.
func (n *lanes) begin(draws []*draw) {
	n.total, n.weight = Total{}, 0
	for k := range draws {
		n.draws[k].records.Begin()
		clear(n.draws[k].sum)
	}
}

// norms adds the log densities of a block of rows, averaged over the draws, to the totals. If want
// is true, it also computes the gradients, and writes each record's clip factor to n.squared.
func (n *lanes) norms(q *Query, draws []*draw, rows []int32, want bool) {
	k := len(rows)
	n.rows = rows
	squared, value := n.squared[:k], n.value[:k]
	clear(squared)
	clear(value)
	for i, w := range draws {
		ld := &n.draws[i]
		for l, v := range ld.run(n.p, rows, want) {
			value[l] += v
		}
		if want {
			n.addNorms(ld, w, squared)
		}
	}
	if n.factors(q, squared, value, len(draws)) && want {
		n.scrub(len(draws))
	}
}

// guarded calls compute and then use for a block of rows. If compute panics for a row, guarded
// leaves out the row and counts it as refused.
func (n *lanes) guarded(rows []int32, compute func([]int32), use func([]int32) error) error {
	refused := len(rows)
	err := guard.Batch(rows, compute, func(some []int32) error {
		refused -= len(some)
		return use(some)
	})
	n.total.Refused += refused
	return err
}

// run returns the log densities of a block of rows. If want is true, it also computes the adjoints
// of the leaves, the places where a record reads shared values.
func (ld *laneDraw) run(p *plan, rows []int32, want bool) []float64 {
	if ld.scrubbed {
		ld.records.Begin()
		ld.scrubbed = false
	}
	if ld.fused != nil {
		return ld.fused.forward(p.m.Verified(), rows)
	}
	value := ld.records.Forward(rows)
	if want {
		ld.records.Backward()
	}
	return value
}

// addNorms adds the squared norm of each gradient in the block to an element of squared. If there
// is no closed form for a norm, it computes the gradient first.
func (n *lanes) addNorms(ld *laneDraw, w *draw, squared []float64) {
	for l := range squared {
		squared[l] += w.inside2
	}
	for _, f := range n.p.alone {
		if !n.unbounded {
			n.aloneNorm(ld, &w.leaves[f.index], f, squared)
		}
	}
	for i, group := range n.p.merged {
		ld.merge.norm(n, ld, w, i, group, squared)
	}
	for i, c := range n.p.dense {
		ld.dense[i].form(n, ld, w, c, &w.dense[i])
		if !n.unbounded {
			ld.dense[i].norm(&w.dense[i], squared)
		}
	}
}

// factors replaces each squared norm by the record's clip factor, and adds the log densities to the
// totals. If the squared norm or the log density of a record is not finite, the record is refused:
// it gets the factor 0 and is only counted. factors reports whether it has refused a record.
func (n *lanes) factors(q *Query, squared, value []float64, draws int) (refused bool) {
	for l, v := range value {
		c := factor(squared[l], q.Clip)
		if v-v != 0 { // v-v is 0 only if v is finite
			c = 0
		}
		squared[l] = c
		if c == 0 {
			n.total.Refused++
			refused = true
			continue
		}
		n.weight += c
		n.total.LogDensity += v / float64(draws)
	}
	return refused
}

// scrub sets the adjoints, gradients and computed values of refused records to zero. Without this,
// numbers that are not finite, multiplied by the clip factor 0, would put NaN into the sums.
func (n *lanes) scrub(draws int) {
	for l := range n.rows {
		if n.squared[l] != 0 {
			continue
		}
		for k := range draws {
			ld := &n.draws[k]
			for i := range n.p.leaves {
				f := &n.p.leaves[i]
				zeroLane(ld.records.Adjoint[f.node], l)
				if f.other >= 0 && !f.onTable {
					zeroLane(ld.records.Value[f.other], l)
					ld.scrubbed = true
				}
			}
			for i := range ld.dense {
				zeroLane(ld.dense[i].grad, l)
			}
			for i := range n.p.merged {
				clear(ld.merge.list(i, l))
			}
		}
	}
}

func zeroLane(b []float64, l int) {
	for ; l < len(b); l += block {
		b[l] = 0
	}
}

// add adds the clipped gradients of the block to the sums.
func (n *lanes) add(draws []*draw) {
	for i := range draws {
		ld := &n.draws[i]
		for _, f := range n.p.alone {
			n.aloneAdd(ld, f)
		}
		for k := range n.p.merged {
			ld.merge.add(n, ld, k)
		}
		for k, c := range n.p.dense {
			ld.dense[k].add(n, ld, c)
		}
	}
}

// scale returns c·a for each record of the block, where c is the record's clip factor.
func (n *lanes) scale(a []float64) []float64 {
	out := n.scaled[:len(n.rows)]
	a, c := a[:len(out)], n.squared[:len(out)]
	for l := range out {
		out[l] = a[l] * c[l]
	}
	return out
}

// finish converts sums of derivatives with respect to table elements into sums of derivatives with
// respect to θ. It handles only tables that a single leaf reads and whose elements each depend on
// one coordinate. It multiplies each sum by ∂element/∂coordinate, which is the same for all
// records.
func (ld *laneDraw) finish(p *plan, w *draw) {
	for _, f := range p.alone {
		if slope := w.leaves[f.index].slope; slope != nil {
			for e, s := range slope {
				if x := &ld.sum[f.base+e]; *x != 0 {
					*x *= s
				}
			}
		}
	}
}

// lane returns element e of a node's values or adjoints for the first k records of the block. In b,
// each element has block numbers.
func lane(b []float64, e, k int) []float64 { return b[e*block : e*block+k : e*block+k] }
