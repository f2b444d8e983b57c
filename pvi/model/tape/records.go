package tape

import (
	"slices"

	"fedpvi/pvi/model/ir"
)

// Records computes the value of a node, called the target, for blocks of rows. It is not safe for
// concurrent use.
type Records struct {
	*Machine
	shared *Shared
	table  *Table
	target int
	inputs []int // nodes whose values are copied from the rows into lanes
	global []int // indices of the Global nodes
	rows   []int32
	clears [][]float64 // adjoints that are set to zero before a backward pass
	sweeps []int       // indices of the nodes in the backward pass
	shift  shift
}

// A shift is an amount for each row that [Records.Forward] adds to one element of a node.
type shift struct {
	node, element int
	amounts       []float64 // amount for each row; nil if there is no shift
}

// NewRecords returns an evaluator that computes the target, and adjoints if asked to, for blocks of
// at most lanes rows.
func NewRecords(shared *Shared, table *Table, lanes, target int, adjoints bool) *Records {
	return newRecords(shared, table, lanes, target, adjoints, nil)
}

// NewGiven returns an evaluator of the target that does not compute the given nodes itself. The
// caller must write their values to Value before each call to [Records.Forward].
func NewGiven(shared *Shared, table *Table, lanes, target int, given []int) *Records {
	return newRecords(shared, table, lanes, target, false, given)
}

func newRecords(shared *Shared, table *Table, lanes, target int, adjoints bool, given []int) *Records {
	v := shared.v
	p := v.Program()
	used, copied := make([]bool, len(p.Nodes)), make([]bool, len(p.Nodes))
	used[target], copied[target] = true, true
	inputs(v, ir.Record, used, copied, given)
	hold := func(i int) bool {
		return used[i] && (v.Phase(i) == ir.Record || copied[i])
	}
	compute := func(i int) bool {
		return used[i] && v.Phase(i) == ir.Record && p.Nodes[i].Op != ir.Global && !slices.Contains(given, i)
	}
	slopes := v.Differentiated(target)
	active := func(i int) bool { return adjoints && slopes[i] }
	r := &Records{
		Machine: newMachine(v, lanes, hold, compute, active),
		shared:  shared, table: table, target: target,
	}
	for i := range p.Nodes {
		switch {
		case !hold(i):
		case v.Phase(i) == ir.Fixed:
			r.spread(i, shared.Value[i])
		case v.Phase(i) == ir.Data:
			r.inputs = append(r.inputs, i)
		case slices.Contains(given, i):
			r.uniform[i] = false
		case p.Nodes[i].Op == ir.Global:
			r.global = append(r.global, i)
		}
	}
	if adjoints {
		r.planSweep()
	}
	return r
}

// inputs finds the nodes of a phase that the used nodes need. It marks them in used, except those
// that are given. In copied it marks the nodes whose values must be copied into lanes. That is not
// necessary for a node that only serves as a table, or as a vector that is multiplied by a table.
func inputs(v *ir.Verified, phase ir.Phase, used, copied []bool, given []int) {
	for i, n := range slices.Backward(v.Program().Nodes) {
		if !used[i] || v.Phase(i) != phase || slices.Contains(given, i) {
			continue
		}
		for _, a := range n.Args {
			used[a], copied[a] = true, copied[a] || n.Op != ir.Global && !isBridge(n.Op)
		}
	}
}

// All computes the target for all rows of the table. It writes the value for row n to
// dst[n·stride+at]. Before each block it calls before with the number of the block's first row.
func (r *Records) All(dst []float64, at, stride int, before func(first int)) {
	r.Begin()
	rows := make([]int32, 0, r.lanes)
	for first := 0; first < r.table.Rows; first += r.lanes {
		rows = rows[:0]
		for row := first; row < min(first+r.lanes, r.table.Rows); row++ {
			rows = append(rows, int32(row))
		}
		before(first)
		r.Forward(rows)
		for l, row := range rows {
			for e := range r.size[r.target] {
				dst[int(row)*stride+at+e] = r.Value[r.target][e*r.lanes+l]
			}
		}
	}
}

// Begin copies values of the shared evaluator into lanes. It must be called after each call to that
// evaluator's Set.
func (r *Records) Begin() {
	for _, i := range r.global {
		r.spread(i, r.shared.Value[r.nodes[i].Args[0]])
	}
}

// Shift makes later calls to [Records.Forward] add amounts[l] to an element of a node in lane l,
// before other nodes read it. The node must be one that lets a record read parameters. For a Global
// node, all amounts must be equal. Shifting ends with a call in which amounts is nil.
func (r *Records) Shift(node, element int, amounts []float64) {
	r.shift = shift{node, element, amounts}
	if n := &r.nodes[node]; n.Op == ir.Global {
		r.spread(node, r.shared.Value[n.Args[0]])
		r.addShift()
	}
}

func (r *Records) addShift() {
	add(r.Value[r.shift.node][r.shift.element*r.lanes:][:len(r.shift.amounts)], r.shift.amounts)
}

// Forward computes the target for the given rows, of which there may be at most one per lane. If
// the target is a vector, it returns the first element for each row.
func (r *Records) Forward(rows []int32) []float64 {
	r.rows = rows
	n := len(rows)
	for _, i := range r.inputs {
		r.load(i)
	}
	for _, i := range r.order {
		if isBridge(r.nodes[i].Op) {
			r.bridge(i)
		} else {
			r.forward(i, n)
		}
		if r.shift.amounts != nil && i == r.shift.node {
			r.addShift()
		}
	}
	return r.Value[r.target][:n]
}

// Backward computes the adjoints of all nodes that the target depends on, for the rows of the last
// call to [Records.Forward].
func (r *Records) Backward() {
	n := len(r.rows)
	for _, b := range r.clears {
		clear(b)
	}
	seed := r.Adjoint[r.target][:n]
	for l := range seed {
		seed[l] = 1
	}
	for k := len(r.sweeps) - 1; k >= 0; k-- {
		if i := r.sweeps[k]; r.nodes[i].Op == ir.MatVec {
			r.matVecBackward(i)
		} else {
			r.backward(i, n)
		}
	}
}

func isBridge(op ir.Op) bool {
	switch op {
	case ir.Gather, ir.GatherRow, ir.Linear, ir.MatVec:
		return true
	}
	return false
}

func (r *Records) load(i int) {
	values, size := r.table.Nodes[i], r.size[i]
	dst := r.Value[i]
	if size == 1 {
		dst = dst[:len(r.rows)]
		for l, row := range r.rows {
			dst[l] = values[row]
		}
		return
	}
	for l, row := range r.rows {
		for e, x := range values[int(row)*size : int(row+1)*size] {
			dst[e*r.lanes+l] = x
		}
	}
}

// bridge computes node i, an operation that lets each record read parameters or constants.
func (r *Records) bridge(i int) {
	n := &r.nodes[i]
	out, size := r.Value[i], r.size[i]
	switch n.Op {
	case ir.Gather, ir.GatherRow:
		table, index := r.shared.Value[n.Args[0]], r.table.Nodes[n.Args[1]]
		if size == 1 {
			out = out[:len(r.rows)]
			for l, row := range r.rows {
				out[l] = table[int(index[row])]
			}
			return
		}
		for l, row := range r.rows {
			k := int(index[row])
			for e, x := range table[k*size : (k+1)*size] {
				out[e*r.lanes+l] = x
			}
		}
	case ir.Linear:
		DotRows(out[:len(r.rows)], r.table.Nodes[n.Args[0]], r.rows, r.shared.Value[n.Args[1]])
	case ir.MatVec:
		r.matVec(i)
	}
}

func (r *Records) matVec(i int) {
	n := &r.nodes[i]
	w, x := r.shared.Value[n.Args[0]], n.Args[1]
	out, rows, cols := r.Value[i], r.size[i], r.size[x]
	if r.v.Phase(x) == ir.Data {
		for e := range rows {
			DotRows(r.lane(out, rows, e, len(r.rows)), r.table.Nodes[x], r.rows, w[e*cols:(e+1)*cols])
		}
		return
	}
	k := len(r.rows)
	for e := range rows {
		dst := r.lane(out, rows, e, k)
		clear(dst)
		for j, c := range w[e*cols : (e+1)*cols] {
			axpy(dst, c, r.lane(r.Value[x], cols, j, k))
		}
	}
}

// matVecBackward is the backward step for node i, a product Wx. It adds Wᵀ times the adjoint of
// node i to the adjoint of x.
func (r *Records) matVecBackward(i int) {
	n := &r.nodes[i]
	x := n.Args[1]
	if !r.active[x] {
		return
	}
	w, rows, cols, k := r.shared.Value[n.Args[0]], r.size[i], r.size[x], len(r.rows)
	for e := range rows {
		g := r.lane(r.Adjoint[i], rows, e, k)
		for j, c := range w[e*cols : (e+1)*cols] {
			axpy(r.lane(r.Adjoint[x], cols, j, k), c, g)
		}
	}
}
