package gpu

import (
	"errors"
	"math"

	"fedpvi/pvi/model/ir"
)

var errNoSink = errors.New("each: no sink")

// An emitter collects the contributions of a block of records for a sink. In the emitter's buffers,
// each number of a contribution has a slot. In a dense contribution, the slot is the number's
// coordinate. In a sparse contribution, each leaf (a place where a record reads shared values) has
// slots that follow each other.
type emitter struct {
	sparse bool
	slot   []int // first slot of each leaf
	merged []int // first slot of each merged component
	rest   []int // first slot of each component in plan.dense
	one    int   // number of slots for one gradient; with Query.Joint, a draw has twice as many
	stride int   // number of slots for a record
	index  []int32
	value  []float64
	joint  []float64 // vector v of Query.Joint for this draw; nil if unused
	d      int
	clean  bool // whether slots stay zero if no record writes to them
	draw   int  // first slot of the current draw
	first  int  // first coordinate of the current draw
}

// unused marks a slot that a record does not need.
const unused = -1

// Each implements Evaluator.
func (e *cpu) Each(q *Query, sink Sink) error {
	if sink == nil {
		return errNoSink
	}
	if err := e.prepare(q, 1); err != nil {
		return err
	}
	n, draws, total := e.strips[0], e.draws[:len(q.Draws)], e.length(q)
	if rows, ok := sink.(RowSink); ok && e.rows(q) {
		return n.handRows(q, total, rows)
	}
	o := &e.out
	o.start(e.p, q)
	n.unbounded = unbounded(q)
	defer func() { n.unbounded = false }()
	for from := 0; from < total; from += block {
		rows := n.pick(q, from, min(from+block, total))
		err := n.guarded(rows, func(rows []int32) { n.norms(q, draws, rows, true) }, func(rows []int32) error {
			if o.sparse || q.Inside != nil {
				o.reset(len(rows))
			}
			for k, w := range draws {
				o.fill(n, k, w)
			}
			return o.hand(n, q, sink)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rows reports whether the sink can get the contributions as slopes and row numbers (see handRows).
// For this, every contribution must be a multiple of a table row, and only the sink may clip it.
func (e *cpu) rows(q *Query) bool {
	return e.p.row != nil && e.strips[0].draws[0].fused != nil &&
		len(q.Draws) == 1 && q.Joint == nil && unbounded(q)
}

// unbounded reports whether the query leaves clipping to the sink. If so, the evaluator computes no
// norms.
func unbounded(q *Query) bool { return q.Inside == nil && math.IsInf(q.Clip, 1) }

// handRows passes the contributions to the sink as slopes and row numbers. The contribution of a
// record is its slope ∂ℓ/∂η times its row, where ℓ is the log density and η the linear predictor.
func (n *lanes) handRows(q *Query, total int, sink RowSink) error {
	f := n.p.row
	x := n.table.Nodes[f.other]
	for from := 0; from < total; from += block {
		var slopes []float64
		rows := n.pick(q, from, min(from+block, total))
		err := n.guarded(rows, func(rows []int32) {
			slopes = n.draws[0].fused.slopes(n.p.m.Verified(), rows)
		}, func(rows []int32) error { return sink.AddRows(slopes, rows, x) })
		if err != nil {
			return err
		}
	}
	return nil
}

// start gets the emitter ready for a query. It assigns the slots. If their number changes, it makes
// new buffers.
func (o *emitter) start(p *plan, q *Query) {
	o.d, o.sparse = p.d, p.sparse && q.Inside == nil
	if o.slot == nil {
		o.slot, o.merged, o.rest = make([]int, len(p.leaves)), make([]int, len(p.merged)), make([]int, len(p.dense))
	}
	o.one = o.layOut(p)
	if !o.sparse {
		o.one = p.d
	}
	stride := o.one * (q.Size(p.d) / p.d)
	if stride == o.stride && o.clean {
		return
	}
	o.stride = stride
	if size := o.stride * block; cap(o.value) < size {
		o.value, o.index = make([]float64, size), make([]int32, size)
	}
	o.value, o.index = o.value[:o.stride*block], o.index[:o.stride*block]
	o.reset(block)
	// If the query adds no vector before clipping, all dense contributions write to the same slots,
	// and the others stay zero.
	o.clean = !o.sparse && q.Inside == nil
}

// reset clears the slots of the records 0 to rows−1 of the block.
func (o *emitter) reset(rows int) {
	clear(o.value[:rows*o.stride])
	index := o.index[:rows*o.stride]
	for i := range index {
		index[i] = unused
	}
}

// layOut decides where the slots of each leaf or component begin in sparse contributions. It
// returns the number of slots for one draw.
func (o *emitter) layOut(p *plan) int {
	next := 0
	take := func(n int) int {
		next += n
		return next - n
	}
	for _, f := range p.alone {
		if f.gathers() {
			o.slot[f.index] = take(gatherWidth(f))
		} else {
			o.slot[f.index] = take(f.size())
		}
	}
	for i, group := range p.merged {
		width := 0
		for _, f := range group {
			width += gatherWidth(f)
		}
		o.merged[i] = take(width)
	}
	for i, c := range p.dense {
		o.rest[i] = take(len(c.coords))
	}
	return next
}

// put writes one number of a record's contribution: g, the scaled gradient of record l with respect
// to coordinate coord. In a sparse contribution, it goes to the given slot. With Query.Joint, put
// also writes the product of g and the joint vector's element for this coordinate.
func (o *emitter) put(l, slot, coord int, g float64) {
	if !o.sparse {
		at := l*o.stride + o.draw + coord
		o.value[at] = g
		if o.joint != nil {
			o.value[at+o.one] = g * o.joint[coord]
		}
		return
	}
	at := l*o.stride + o.draw + slot
	o.value[at], o.index[at] = g, int32(o.first+coord)
	if o.joint != nil {
		at += o.one
		o.value[at], o.index[at] = g*o.joint[coord], int32(o.first+o.d+coord)
	}
}

// fill writes the scaled gradients of a block of records at draw k to their slots.
func (o *emitter) fill(n *lanes, k int, w *draw) {
	ld := &n.draws[k]
	o.joint = w.joint
	per := 1
	if w.joint != nil {
		per = 2
	}
	o.draw, o.first = k*per*o.one, k*per*o.d
	for _, f := range n.p.alone {
		o.fillAlone(n, ld, &w.leaves[f.index], f)
	}
	for i := range n.p.merged {
		for l := range n.rows {
			for s, x := range ld.merge.list(i, l) {
				o.put(l, o.merged[i]+s, x.coord, n.squared[l]*x.value)
			}
		}
	}
	for i, c := range n.p.dense {
		for j, coord := range c.coords {
			for l, g := range n.scale(lane(ld.dense[i].grad, j, len(n.rows))) {
				o.put(l, o.rest[i]+j, int(coord), g)
			}
		}
	}
}

func (o *emitter) fillAlone(n *lanes, ld *laneDraw, w *leafWeights, f *leaf) {
	adj, slot, k := ld.records.Adjoint[f.node], o.slot[f.index], len(n.rows)
	switch f.op {
	case ir.Global:
		for at := range f.size() {
			slope := w.slopeAt(at)
			for l, g := range n.scale(lane(adj, at, k)) {
				o.put(l, slot+at, f.base+at, times(g, slope))
			}
		}
	case ir.Gather, ir.GatherRow:
		width, index := gatherWidth(f), n.table.Nodes[f.other]
		for e := range width {
			for l, g := range n.scale(lane(adj, e, k)) {
				at := int(index[n.rows[l]])*width + e
				o.put(l, slot+e, f.base+at, times(g, w.slopeAt(at)))
			}
		}
	default:
		for r := range f.rows {
			scaled := n.scale(lane(adj, r, k))
			if f.onTable && w.slope == nil && !o.sparse {
				o.fillRows(n, f, r, scaled)
				continue
			}
			for l, g := range scaled {
				for j := range f.cols {
					at := r*f.cols + j
					o.put(l, slot+at, f.base+at, times(g*n.factorOf(ld, f, n.rows[l], j, l), w.slopeAt(at)))
				}
			}
		}
	}
}

// times returns g·x, or 0 if g is 0, even if x is not finite.
func times(g, x float64) float64 {
	if g == 0 {
		return 0
	}
	return g * x
}

// slopeAt returns the derivative of a table element with respect to the coordinate on which it
// depends. element is its index.
func (w *leafWeights) slopeAt(element int) float64 {
	if w.slope == nil {
		return 1
	}
	return w.slope[element]
}

// fillRows writes, for each record of the block, the scaled gradient with respect to row r of a
// leaf's table. At the leaf f, this table multiplies a vector of the record's row. Most coordinates
// of most models belong to such a leaf, so fillRows writes them together.
func (o *emitter) fillRows(n *lanes, f *leaf, r int, scaled []float64) {
	at := f.base + r*f.cols
	scaleRows(o.value[o.draw+at:], o.stride, scaled, n.table.Nodes[f.other], n.rows, f.cols)
	if o.joint == nil {
		return
	}
	v := o.joint[at : at+f.cols]
	for l := range scaled {
		from := l*o.stride + o.draw + at
		g, dst := o.value[from:][:len(v)], o.value[from+o.one:][:len(v)]
		for j := range dst {
			dst[j] = g[j] * v[j]
		}
	}
}

// hand passes the contributions of the block to the sink. If q.Inside is not nil, hand first adds
// it to each record's contribution, multiplied by the record's clip factor.
func (o *emitter) hand(n *lanes, q *Query, sink Sink) error {
	if q.Inside != nil {
		for l := range n.rows {
			value := o.value[l*o.stride:][:o.stride]
			for j, x := range q.Inside {
				value[j] += n.squared[l] * x
			}
		}
	}
	if s, ok := sink.(VectorSink); ok && !o.sparse {
		return s.AddVectors(o.value[:len(n.rows)*o.stride])
	}
	for l := range n.rows {
		value, index := o.value[l*o.stride:][:o.stride], o.index[l*o.stride:][:o.stride]
		if !o.sparse {
			index = nil
		} else if len(n.p.merged) > 0 {
			index, value = compact(index, value)
		}
		if err := sink.AddRecord(index, value); err != nil {
			return err
		}
	}
	return nil
}

// compact removes the slots that a record does not use from index and value.
func compact(index []int32, value []float64) ([]int32, []float64) {
	n := 0
	for k, j := range index {
		if j != unused {
			index[n], value[n] = j, value[k]
			n++
		}
	}
	return index[:n], value[:n]
}
