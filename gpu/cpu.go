package gpu

import (
	"errors"

	"fedpvi/pvi/model"
)

// CPU is the engine that evaluates models on the CPU.
type CPU struct {
	// Generic turns the fused kernels off. With it, a test can compare results with and without
	// them.
	Generic bool
}

// Compile returns an evaluator of a model over the rows of a table, which must have been loaded for
// the model.
func (c CPU) Compile(m *model.Model, table *model.Table) (Evaluator, error) {
	if m == nil || table == nil {
		return nil, errors.New("compile: a model and a table of its rows are needed")
	}
	if len(table.Nodes) != len(m.Verified().Program().Nodes) {
		return nil, errors.New("compile: the table was loaded by another model")
	}
	p, err := newPlan(m, c.Generic)
	if err != nil {
		return nil, err
	}
	return &cpu{p: p, table: table}, nil
}

// maxStrips is the maximum number of strips, the parts into which a batch is divided. Within a
// strip, records are added in the order of the batch. Then the sums of the strips are added, from
// first to last. This keeps rounding errors small.
const (
	maxStrips      = 8
	blocksPerStrip = 16 // minimum number of record blocks in a strip
)

// cpu is the [Evaluator] on the CPU.
type cpu struct {
	p       *plan
	table   *model.Table
	draws   []*draw
	strips  []*lanes
	out     emitter
	hessian *hessian
	// These fields belong to the current call of Sum.
	query *Query
	want  bool
	count int // number of strips
}

// Dim implements Evaluator.
func (e *cpu) Dim() int { return e.p.d }

// Rows implements Evaluator.
func (e *cpu) Rows() int { return e.table.Rows }

func (e *cpu) length(q *Query) int {
	if q.Batch != nil {
		return len(q.Batch)
	}
	return e.table.Rows
}

// prepare gets the evaluator ready for a query. It checks the query, computes the values that all
// records share at the query's points, and gives each strip its buffers.
func (e *cpu) prepare(q *Query, strips int) error {
	if err := q.check(e.p.d, e.table.Rows); err != nil {
		return err
	}
	e.query, e.count = q, strips
	for len(e.draws) < len(q.Draws) {
		e.draws = append(e.draws, newDraw(e.p))
	}
	one := q.Size(e.p.d) / len(q.Draws)
	for k, theta := range q.Draws {
		var joint, inside []float64
		if q.Joint != nil {
			joint = q.Joint[k]
		}
		if q.Inside != nil {
			inside = q.Inside[k*one : (k+1)*one]
		}
		e.draws[k].set(e.p, theta, joint, inside)
	}
	for len(e.strips) < strips {
		e.strips = append(e.strips, &lanes{p: e.p, table: e.table})
	}
	for _, n := range e.strips[:strips] {
		for k := len(n.draws); k < len(q.Draws); k++ {
			n.draws = append(n.draws, newLaneDraw(e.p, e.table, e.draws[k]))
		}
		n.begin(e.draws[:len(q.Draws)])
	}
	return nil
}

// Sum implements Evaluator.
func (e *cpu) Sum(dst []float64, q *Query) (Total, error) {
	blocks := (e.length(q) + block - 1) / block
	if err := e.prepare(q, min(max(blocks/blocksPerStrip, 1), maxStrips)); err != nil {
		return Total{}, err
	}
	e.want = dst != nil
	if e.want && len(dst) != q.Size(e.p.d) {
		return Total{}, errors.New("sum: the destination and a contribution have different lengths")
	}
	for s := range e.count {
		e.strip(s)
	}
	return e.gatherStrips(dst), nil
}

// strip computes the sum of strip number s of the batch.
func (e *cpu) strip(s int) {
	n, draws := e.strips[s], e.draws[:len(e.query.Draws)]
	total := e.length(e.query)
	blocks := (total + block - 1) / block
	for b := s * blocks / e.count; b < (s+1)*blocks/e.count; b++ {
		rows := n.pick(e.query, b*block, min((b+1)*block, total))
		_ = n.guarded(rows, func(rows []int32) { n.norms(e.query, draws, rows, e.want) }, func([]int32) error {
			if e.want {
				n.add(draws)
			}
			return nil
		})
	}
}

// pick returns the row numbers of the records that have the indices [from, to) in the batch.
func (n *lanes) pick(q *Query, from, to int) []int32 {
	if q.Batch != nil {
		return q.Batch[from:to]
	}
	for l := range to - from {
		n.all[l] = int32(from + l)
	}
	return n.all[:to-from]
}

// gatherStrips adds up the strips' sums from first to last, and writes the result to dst. If dst is
// nil, it only returns the total.
func (e *cpu) gatherStrips(dst []float64) Total {
	first := e.strips[0]
	total, weight := first.total, first.weight
	for _, n := range e.strips[1:e.count] {
		total.LogDensity += n.total.LogDensity
		total.Refused += n.total.Refused
		weight += n.weight
	}
	if dst == nil {
		return total
	}
	for k, w := range e.draws[:len(e.query.Draws)] {
		sum := first.draws[k].sum
		for _, n := range e.strips[1:e.count] {
			for j, x := range n.draws[k].sum {
				sum[j] += x
			}
		}
		first.draws[k].finish(e.p, w)
		dst = w.write(dst, sum, weight)
	}
	return total
}

// write writes the sum of the contributions of one draw to the beginning of dst, and returns the
// rest of dst. sum is the sum of the gradients, and weight the sum of the clip factors.
func (w *draw) write(dst, sum []float64, weight float64) []float64 {
	d := len(sum)
	copy(dst, sum)
	size := d
	if w.joint != nil {
		size = 2 * d
		for j, x := range sum {
			dst[d+j] = x * w.joint[j]
		}
	}
	for j, x := range w.inside {
		dst[j] += weight * x
	}
	return dst[size:]
}
