package gpu

import (
	"errors"
	"math"
	"slices"

	"fedpvi/internal/guard"
	"fedpvi/internal/special"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

var errNotFinite = errors.New("hessian: the log density of a record is not finite near this point")

// differenceStep is the step of a gradient's central difference at x, divided by 1 + |x|. It is the
// cube root of the precision of a float64, which balances truncation and rounding errors.
const differenceStep = 6.0554544523933429e-6

// Hessian implements [Evaluator].
func (e *cpu) Hessian(dst, theta []float64) error {
	d := e.p.d
	if len(dst) != d*(d+1)/2 || len(theta) != d {
		return errors.New("hessian: it needs d coordinates and d(d+1)/2 elements")
	}
	full := &fullSum{d: d, half: make([]float64, d*d)}
	if err := e.sumHessian(full, theta); err != nil {
		return err
	}
	return full.write(dst)
}

// HessianDiagonal implements [Evaluator].
func (e *cpu) HessianDiagonal(dst, theta []float64) error {
	if len(dst) != e.p.d || len(theta) != e.p.d {
		return errors.New("hessian: it needs d coordinates and d elements")
	}
	clear(dst)
	if err := e.sumHessian(diagonalSum(dst), theta); err != nil {
		return err
	}
	if !special.Finite(dst) {
		return errNotFinite
	}
	return nil
}

// sumHessian adds the sum of the records' Hessians at theta to sum.
func (e *cpu) sumHessian(sum hessianSum, theta []float64) error {
	if !special.Finite(theta) {
		return errNotFinite
	}
	if e.hessian == nil {
		e.hessian = newHessian(e.p, e.table)
	}
	h := e.hessian
	h.begin(theta)
	h.sum = sum
	n := lanes{p: e.p, table: e.table}
	for from := 0; from < e.table.Rows; from += block {
		rows := n.pick(&Query{}, from, min(from+block, e.table.Rows))
		whole := false
		if err := guard.Run(func() { whole = h.add(rows) }); err != nil || !whole {
			return errNotFinite
		}
	}
	h.bend(theta)
	return nil
}

// hessian computes sums of records' Hessians.
//
// The log density of a record depends on θ only through few numbers u, which the record reads from
// tables of shared values. A node at which a record reads such numbers is a leaf, and the numbers
// are the outputs of the leaf. Each output is a linear function of the elements of a table. Let v_c
// = ∂u_c/∂θ be the gradient of output c. Let a and H be the gradient and the Hessian of the log
// density with respect to the outputs. Then the Hessian with respect to θ is
//
//	Σ_cc' H_cc' v_c v_c'ᵀ + Σ_c a_c ∂²u_c/∂θ².
//
// H is computed by central differences of a, which take two evaluations for each output. Outputs
// that are terms of one sum have equal derivatives a_c, called adjoints. They count as one output,
// which is called a channel. The number of evaluations therefore does not depend on the dimension
// of θ. The relative error is about 1e-9.
type hessian struct {
	p       *plan
	table   *model.Table
	w       *draw
	records *tape.Records

	channels [][]output // outputs of each channel
	outputs  [][]int    // channel of each output of each leaf
	products []*leaf    // leaves whose tables multiply vectors that depend on parameters

	// linear[i] has the gradients with respect to θ of the elements of the table at node i. A table
	// is in the map only if its elements are not themselves coordinates of θ.
	linear map[int][][]segment
	// weights[i] has the derivatives of the summed log density with respect to the elements of the
	// table at node i. A table is in the map only if its elements are not themselves coordinates of
	// θ.
	weights map[int][]float64

	// adjoints[c][l] is the adjoint of channel c for record l of the block. above and below have
	// the adjoints after a small step of the current channel up and down. Then [hessian.shifted]
	// replaces above by derivatives.
	adjoints, above, below [][]float64
	step                   []float64 // step of the current channel, for each record of the block
	// vectors[k] has a derivative with respect to the current channel: that of the vector which the
	// table of products[k] multiplies.
	vectors  [][]float64
	segments [block][]segment
	starts   [block][]int // index of the first segment of each channel, for each record
	arena    []float64
	sum      hessianSum
	// gradients, at two points close to θ, of the sum of weight·element over all elements of the
	// tables in weights
	gradients [2][]float64
	at        []float64 // point at which curve computes a gradient
}

// An output is one number that a record gets from a leaf.
type output struct {
	leaf    *leaf
	element int
}

// A segment is a part of a gradient with respect to θ: the values for consecutive coordinates,
// beginning with coordinate base.
type segment struct {
	base   int
	values []float64
}

func newHessian(p *plan, table *model.Table) *hessian {
	h := &hessian{
		p: p, table: table, w: newDraw(p), linear: map[int][][]segment{}, weights: map[int][]float64{},
		step: make([]float64, block), at: make([]float64, p.d),
		gradients: [2][]float64{make([]float64, p.d), make([]float64, p.d)},
	}
	h.records = tape.NewRecords(h.w.shared, table, block, p.m.Verified().Program().Likelihood, true)
	seen := map[*float64]int{}
	for i := range p.leaves {
		f := &p.leaves[i]
		var channels []int
		for o := range f.outputs() {
			adjoint := &h.records.Adjoint[f.node][o*block]
			channel, ok := seen[adjoint]
			if !ok {
				channel = len(h.channels)
				seen[adjoint] = channel
				h.channels = append(h.channels, nil)
			}
			h.channels[channel] = append(h.channels[channel], output{f, o})
			channels = append(channels, channel)
		}
		h.outputs = append(h.outputs, channels)
		if f.op == ir.MatVec && !f.onTable {
			h.products = append(h.products, f)
			h.vectors = append(h.vectors, make([]float64, f.cols*block))
		}
		if !f.same {
			h.weights[f.table] = make([]float64, f.size())
		}
	}
	for _, v := range []*[][]float64{&h.adjoints, &h.above, &h.below} {
		for range h.channels {
			*v = append(*v, make([]float64, block))
		}
	}
	for l := range block {
		h.starts[l] = make([]int, len(h.channels)+1)
	}
	return h
}

// outputs returns the number of outputs of the leaf.
func (f *leaf) outputs() int {
	switch f.op {
	case ir.Global:
		return f.size()
	case ir.Gather, ir.GatherRow:
		return gatherWidth(f)
	}
	return f.rows
}

// begin computes the values that all records share at theta, and clears the sums of adjoints.
func (h *hessian) begin(theta []float64) {
	h.w.set(h.p, theta, nil, nil)
	h.records.Begin()
	for _, sums := range h.weights {
		clear(sums)
	}
	for i := range h.p.leaves {
		if f := &h.p.leaves[i]; f.direct && !f.same {
			h.linear[f.table] = elementwise(f, h.w.leaves[i].slope)
		}
	}
	for i, c := range h.p.dense {
		for k, table := range c.tables {
			var rows [][]segment
			for e := range c.tableSize(k) {
				at := (c.start[k] + e) * len(c.coords)
				rows = append(rows, runs(c.coords, h.w.dense[i].jacobian[at:at+len(c.coords)]))
			}
			h.linear[table] = rows
		}
	}
}

// elementwise returns the gradients with respect to θ of the elements of a table. Element e depends
// only on coordinate f.base+e, and slope[e] is its derivative.
func elementwise(f *leaf, slope []float64) [][]segment {
	rows := make([][]segment, f.size())
	for e := range rows {
		rows[e] = []segment{{f.base + e, slope[e : e+1]}}
	}
	return rows
}

// runs divides a sparse gradient into segments of consecutive coordinates, and leaves out zeros.
// values[k] belongs to coordinate coords[k].
func runs(coords []int32, values []float64) (out []segment) {
	for from := 0; from < len(values); {
		if values[from] == 0 {
			from++
			continue
		}
		to := from + 1
		for to < len(values) && values[to] != 0 && coords[to] == coords[to-1]+1 {
			to++
		}
		out = append(out, segment{int(coords[from]), values[from:to]})
		from = to
	}
	return out
}

// add adds the part of the Hessians of a block of records that the first sum in the formula of
// [hessian] gives. For the second sum, it only adds the records' adjoints to h.weights. It returns
// false if a log density is not finite.
func (h *hessian) add(rows []int32) bool {
	if !h.evaluate(rows, h.adjoints) {
		return false
	}
	h.lay(rows)
	for c := range h.channels {
		if !h.shifted(rows, c) {
			return false
		}
		for l := range rows {
			h.addRecord(l, c)
		}
		h.addProducts(rows, c)
	}
	return true
}

// evaluate writes the adjoints of all channels for the rows to adjoints. It returns false if a log
// density is not finite.
func (h *hessian) evaluate(rows []int32, adjoints [][]float64) bool {
	value := h.records.Forward(rows)
	h.records.Backward()
	for c, all := range h.channels {
		copy(adjoints[c], lane(h.records.Adjoint[all[0].leaf.node], all[0].element, len(rows)))
	}
	return special.Finite(value)
}

// shifted computes derivatives with respect to channel c by central differences. It writes the
// derivatives of the adjoints of all channels to h.above. For each leaf in h.products, the leaf's
// table multiplies a vector, and shifted writes the derivative of this vector to h.vectors. It
// returns false if a log density is not finite.
func (h *hessian) shifted(rows []int32, c int) bool {
	step := h.step[:len(rows)]
	node, element := h.channels[c][0].leaf.node, h.channels[c][0].element
	for l, u := range lane(h.records.Value[node], element, len(rows)) {
		step[l] = differenceStep * (1 + math.Abs(u))
	}
	h.records.Shift(node, element, step)
	ok := h.evaluate(rows, h.above)
	for k, f := range h.products {
		copy(h.vectors[k], h.records.Value[f.other])
	}
	for l := range step {
		step[l] = -step[l]
	}
	h.records.Shift(node, element, step)
	ok = h.evaluate(rows, h.below) && ok
	for l := range step {
		step[l] *= -2
	}
	for k, f := range h.products {
		derive(h.vectors[k], h.records.Value[f.other], step)
	}
	h.records.Shift(node, element, nil)
	for i := range h.channels {
		derive(h.above[i], h.below[i], step)
	}
	return ok
}

// derive replaces each element of above by a difference quotient: it subtracts the element of below
// and divides by the element of step. Each record has its own step.
func derive(above, below, step []float64) {
	for from := 0; from < len(above); from += block {
		for l, s := range step {
			above[from+l] = (above[from+l] - below[from+l]) / s
		}
	}
}

// addRecord adds the terms of Σ H_cc' v_c v_c'ᵀ for record l of the block that belong to channel c
// and to no later channel (see [hessian] for H and v). These are H_cc v_c v_cᵀ and, for each
// channel c' before c,
//
//	H_cc' (v_c v_c'ᵀ + v_c' v_cᵀ).
func (h *hessian) addRecord(l, c int) {
	all, starts := h.segments[l], h.starts[l]
	own := all[starts[c]:starts[c+1]]
	for before := range c {
		if w := h.above[before][l]; w != 0 {
			for _, a := range own {
				for _, b := range all[starts[before]:starts[before+1]] {
					h.sum.pair(a, b, w)
				}
			}
		}
	}
	w := h.above[c][l]
	if w == 0 {
		return
	}
	for i, a := range own {
		for _, b := range own[:i] {
			h.sum.pair(a, b, w)
		}
		h.sum.square(a, w)
	}
}

// addProducts adds second derivatives of products Wx, where W is a table and x is a vector that
// depends on channel c. These are the derivatives with respect to an element of W and to channel c.
func (h *hessian) addProducts(rows []int32, c int) {
	for k, f := range h.products {
		for j := range f.cols {
			for l, x := range lane(h.vectors[k], j, len(rows)) {
				if x == 0 {
					continue
				}
				for r := range f.rows {
					a := h.adjoints[h.outputs[f.index][r]][l]
					for _, element := range h.element(f, r*f.cols+j) {
						for _, s := range h.segments[l][h.starts[l][c]:h.starts[l][c+1]] {
							h.sum.pair(element, s, a*x)
						}
					}
				}
			}
		}
	}
}

var one = []float64{1}

// element returns the gradient with respect to θ of element e of the leaf's table.
func (h *hessian) element(f *leaf, e int) []segment {
	if f.same {
		return []segment{{f.base + e, one}}
	}
	return h.linear[f.table][e]
}

// lay writes the gradients of each row's channels to h.segments, and adds the rows' adjoints to
// h.weights.
func (h *hessian) lay(rows []int32) {
	h.arena = h.arena[:0]
	for l, row := range rows {
		h.segments[l] = h.segments[l][:0]
		for c := range h.channels {
			h.starts[l][c] = len(h.segments[l])
			for _, at := range h.channels[c] {
				h.layOutput(at.leaf, l, int(row), at.element, h.adjoints[c][l])
			}
		}
		h.starts[l][len(h.channels)] = len(h.segments[l])
	}
}

// layOutput appends the gradient with respect to θ of output o of a leaf to the segments of record
// l. Unless the elements of the leaf's table are themselves coordinates, it also adds adjoint,
// times the derivative of the output with respect to each element, to the weight of that element.
func (h *hessian) layOutput(f *leaf, l, row, o int, adjoint float64) {
	switch f.op {
	case ir.Global:
		h.layElement(f, l, o, adjoint)
		return
	case ir.Gather, ir.GatherRow:
		h.layElement(f, l, int(h.table.Nodes[f.other][row])*gatherWidth(f)+o, adjoint)
		return
	}
	x := h.factors(f, l, row)
	from := o * f.cols
	if f.same {
		h.segments[l] = append(h.segments[l], segment{f.base + from, x})
		return
	}
	for j, factor := range x {
		h.weights[f.table][from+j] += adjoint * factor
	}
	if f.direct {
		at := len(h.arena)
		for j, factor := range x {
			h.arena = append(h.arena, factor*h.linear[f.table][from+j][0].values[0])
		}
		h.segments[l] = append(h.segments[l], segment{f.base + from, h.arena[at:len(h.arena):len(h.arena)]})
		return
	}
	for j, factor := range x {
		if factor == 0 {
			continue
		}
		for _, s := range h.linear[f.table][from+j] {
			at := len(h.arena)
			for _, v := range s.values {
				h.arena = append(h.arena, factor*v)
			}
			h.segments[l] = append(h.segments[l], segment{s.base, h.arena[at:len(h.arena):len(h.arena)]})
		}
	}
}

func (h *hessian) layElement(f *leaf, l, e int, adjoint float64) {
	h.segments[l] = append(h.segments[l], h.element(f, e)...)
	if !f.same {
		h.weights[f.table][e] += adjoint
	}
}

// factors returns the vector that the table of leaf f multiplies in record l of the block. row is
// the record's number in the table of records.
func (h *hessian) factors(f *leaf, l, row int) []float64 {
	if f.onTable {
		return h.table.Nodes[f.other][row*f.cols:][:f.cols]
	}
	at := len(h.arena)
	for j := range f.cols {
		h.arena = append(h.arena, h.records.Value[f.other][j*block+l])
	}
	return h.arena[at:len(h.arena):len(h.arena)]
}

// bend adds the second sum of the formula of [hessian], which contains the second derivatives of
// table elements, weighted with h.weights. In some tables each element is a function of one
// coordinate. bend computes the derivatives with respect to the coordinates of all these tables at
// once, and the derivatives with respect to other coordinates one by one.
func (h *hessian) bend(theta []float64) {
	var own []int
	for _, f := range append(slices.Clone(h.p.alone), slices.Concat(h.p.merged...)...) {
		if !f.same {
			for e := range f.size() {
				own = append(own, f.base+e)
			}
		}
	}
	slices.Sort(own)
	if own = slices.Compact(own); len(own) > 0 {
		h.curve(theta, own)
		for _, k := range own {
			h.sum.element(k, k, h.gradients[0][k])
		}
	}
	for _, c := range h.p.dense {
		if !slices.ContainsFunc(c.leaves, func(f *leaf) bool { return !f.same }) {
			continue
		}
		for _, k := range c.coords {
			h.curve(theta, []int{int(k)})
			for _, j := range c.coords {
				h.sum.element(int(k), int(j), h.gradients[0][j])
			}
		}
	}
}

// curve computes second derivatives of the sum of weight·element over all elements of the tables in
// h.weights, by central differences. It moves the given coordinates of theta up by a step and then
// down by a step, all at the same time, and computes the gradient at both points. It divides the
// difference of the gradients by twice the step and writes the quotient to h.gradients[0]. With
// several coordinates, only the elements of these coordinates are divided, each by twice its own
// step. With one coordinate, all elements are divided, which gives a column of the Hessian.
func (h *hessian) curve(theta []float64, coords []int) {
	copy(h.at, theta)
	for side, g := range h.gradients {
		for _, k := range coords {
			h.at[k] = theta[k] + float64(1-2*side)*differenceStep*(1+math.Abs(theta[k]))
		}
		clear(g)
		h.w.shared.Set(h.at)
		h.w.shared.Pull(g, func(i int) []float64 { return h.weights[i] })
	}
	first := 2 * differenceStep * (1 + math.Abs(theta[coords[0]]))
	above, below := h.gradients[0], h.gradients[1]
	if len(coords) == 1 {
		for j := range above {
			above[j] = (above[j] - below[j]) / first
		}
		return
	}
	for _, k := range coords {
		above[k] = (above[k] - below[k]) / (2 * differenceStep * (1 + math.Abs(theta[k])))
	}
}
