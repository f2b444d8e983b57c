package gpu

import (
	"errors"

	"fedpvi/pvi/model/ir"
)

var errNoSink = errors.New("each: no sink")

// emitter collects the contribution of one record for a sink.
type emitter struct {
	sparse bool
	index  []int32
	value  []float64
	offset int       // of the draw
	d      int       // of θ
	joint  []float64 // v of the draw, or nil
	c      float64   // factor
}

// put adds a gradient to coordinate j. A dense contribution has one put for each
// coordinate at most.
func (o *emitter) put(j int, g float64) {
	g *= o.c
	if o.c == 0 { // g may not be finite
		g = 0
	}
	o.set(o.offset+j, g)
	if o.joint != nil {
		o.set(o.offset+o.d+j, g*o.joint[j])
	}
}

func (o *emitter) set(j int, x float64) {
	if o.sparse {
		o.index, o.value = append(o.index, int32(j)), append(o.value, x)
		return
	}
	o.value[j] = x
}

// Each implements Evaluator.
func (e *cpu) Each(q *Query, sink Sink) error {
	if err := e.prepare(q, 1); err != nil {
		return err
	}
	if sink == nil {
		return errNoSink
	}
	n, draws, total := e.strips[0], e.draws[:len(q.Draws)], e.length(q)
	e.startEmitter(q)
	for from := 0; from < total; from += block {
		n.norms(q, draws, n.pick(q, from, min(from+block, total)), true)
		for l := range n.rows {
			if err := e.emit(n, l, sink); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *cpu) startEmitter(q *Query) {
	o := &e.out
	o.d, o.sparse = e.p.d, e.p.sparse && q.Inside == nil
	if size := q.Size(e.p.d); cap(o.value) < size {
		o.value, o.index = make([]float64, size), make([]int32, 0, size)
	}
	o.value = o.value[:q.Size(e.p.d)]
	clear(o.value)
}

// emit hands the contribution of lane l to the sink.
func (e *cpu) emit(n *lanes, l int, sink Sink) error {
	o, q := &e.out, e.query
	o.c = n.squared[l]
	switch {
	case o.sparse:
		o.index, o.value = o.index[:0], o.value[:0]
	case q.Inside != nil:
		clear(o.value)
	}
	size := q.Size(e.p.d) / len(q.Draws)
	for k, w := range e.draws[:len(q.Draws)] {
		o.offset, o.joint = k*size, w.joint
		e.emitDraw(n, k, w, l)
	}
	for j, x := range q.Inside {
		o.value[j] += o.c * x
	}
	if o.sparse {
		return sink.AddRecord(o.index, o.value)
	}
	return sink.AddRecord(nil, o.value)
}

func (e *cpu) emitDraw(n *lanes, k int, w *draw, l int) {
	ld := &n.draws[k]
	for _, f := range e.p.alone {
		e.emitAlone(n, ld, &w.leaves[f.index], f, l)
	}
	for i := range e.p.merged {
		for _, x := range ld.merge.list(i, l) {
			e.out.put(x.coord, x.value)
		}
	}
	for i, c := range e.p.dense {
		for j, coord := range c.coords {
			e.out.put(int(coord), ld.dense[i].grad[j*block+l])
		}
	}
}

func (e *cpu) emitAlone(n *lanes, ld *laneDraw, w *leafWeights, f *leaf, l int) {
	o, adj := &e.out, ld.records.Adjoint[f.node]
	row := n.rows[l]
	slope := func(at int) float64 {
		if w.slope == nil {
			return 1
		}
		return w.slope[at]
	}
	switch f.op {
	case ir.Global:
		for at := range f.size() {
			o.put(f.base+at, adj[at*block+l]*slope(at))
		}
	case ir.Gather, ir.GatherRow:
		width := gatherWidth(f)
		from := int(n.table.Nodes[f.other][row]) * width
		for at := range width {
			o.put(f.base+from+at, adj[at*block+l]*slope(from+at))
		}
	default:
		for r := range f.rows {
			a := adj[r*block+l]
			if f.onTable && w.slope == nil && o.joint == nil && !o.sparse {
				o.emitRow(f.base+r*f.cols, a, n.table.Nodes[f.other][int(row)*f.cols:][:f.cols])
				continue
			}
			for j := range f.cols {
				at := r*f.cols + j
				o.put(f.base+at, a*n.factorOf(ld, f, row, j, l)*slope(at))
			}
		}
	}
}

// emitRow writes c·a·x, the gradient of a linear predictor.
func (o *emitter) emitRow(base int, a float64, x []float64) {
	a *= o.c
	if o.c == 0 {
		a = 0
	}
	dst := o.value[o.offset+base:][:len(x)]
	for j, v := range x {
		dst[j] = a * v
	}
}
