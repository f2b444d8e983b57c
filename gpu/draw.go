package gpu

import (
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/tape"
)

// A draw prepares a query for evaluation at one point θ. It has the values that depend on θ but not
// on the records: the values that all records share, and the weights with which gradients enter
// norms and sums.
type draw struct {
	shared *model.Shared
	joint  []float64 // vector v of Query.Joint for this point, or nil
	inside []float64 // part of Query.Inside for this point, or nil
	leaves []leafWeights
	dense  []denseWeights
	grad   []float64 // scratch space; it is zero between uses
	// inside2 is the squared norm of inside. If the query adds this vector to every contribution,
	// inside2 is part of a contribution's squared norm.
	inside2 float64
}

// leafWeights has weights for the adjoints at a leaf, a place where a record reads a table of
// shared values. Each element of the table has a weight.
type leafWeights struct {
	path *tape.Path
	// slope has each element's derivative with respect to the element's coordinate. It is nil if
	// all derivatives are 1.
	slope []float64
	// norm is slope²·(1+v²), where v is the element of Query.Joint for the same coordinate. In
	// norms, it is the weight of a squared adjoint. It is nil if all weights are 1.
	norm []float64
	// cross is slope·(inside_g + v·inside_ρ). Here inside_g and inside_ρ are the halves of the
	// vector that the query adds to every contribution before clipping, and v is the vector of
	// Query.Joint. In the scalar product of a contribution with the added vector, cross is the
	// weight of an adjoint. It is nil if the query adds no vector.
	cross         []float64
	slopes, norms []float64 // buffers for slope, norm and cross
	crosses       []float64
}

// denseWeights has the weights of a dense component.
type denseWeights struct {
	jacobian []float64 // Jacobian of the tables, with one row per element and one column per coordinate
	// weight 1+v² of each coordinate in squared norms, where v is the coordinate's element of
	// Query.Joint; nil if all weights are 1
	norm    []float64
	cross   []float64
	norms   []float64
	crosses []float64
}

func newDraw(p *plan) *draw {
	w := &draw{shared: p.m.Shared(), grad: make([]float64, p.d)}
	for i := range p.leaves {
		f := &p.leaves[i]
		lw := leafWeights{norms: make([]float64, f.size()), crosses: make([]float64, f.size())}
		if f.direct && !f.same {
			lw.path, lw.slopes = w.shared.Path(f.table), make([]float64, f.size())
		}
		w.leaves = append(w.leaves, lw)
	}
	for _, c := range p.dense {
		n := len(c.coords)
		w.dense = append(w.dense, denseWeights{
			jacobian: make([]float64, c.size*n), norms: make([]float64, n), crosses: make([]float64, n),
		})
	}
	return w
}

// set computes all values of the draw at the point theta. joint and inside are the parts of
// Query.Joint and Query.Inside for this point, or nil.
func (w *draw) set(p *plan, theta, joint, inside []float64) {
	w.shared.Set(theta)
	w.joint, w.inside, w.inside2 = joint, inside, 0
	for _, x := range inside {
		w.inside2 += x * x
	}
	for i := range p.leaves {
		if f := &p.leaves[i]; f.direct {
			w.weigh(&w.leaves[i], f)
		}
	}
	for i, c := range p.dense {
		w.weighDense(&w.dense[i], c)
	}
}

func (w *draw) weigh(lw *leafWeights, f *leaf) {
	lw.slope, lw.norm, lw.cross = nil, nil, nil
	if lw.path != nil {
		w.shared.Slope(lw.path, -1, w.grad)
		copy(lw.slopes, w.grad[f.base:])
		w.clean(lw.path)
		lw.slope = lw.slopes
	}
	if lw.slope != nil || w.joint != nil {
		lw.norm = lw.norms
	}
	if w.inside != nil {
		lw.cross = lw.crosses
	}
	if lw.norm == nil && lw.cross == nil {
		return
	}
	for e := range f.size() {
		slope := 1.
		if lw.slope != nil {
			slope = lw.slope[e]
		}
		lw.norms[e] = slope * slope * w.double(f.base+e)
		lw.crosses[e] = slope * w.insideAt(f.base+e)
	}
}

// double returns the weight of coordinate j in squared norms. If Query.Joint has the vector v, a
// contribution consists of the gradient g and the products g_j·v_j, so the weight is 1+v_j². If
// Query.Joint is nil, it is 1.
func (w *draw) double(j int) float64 {
	if w.joint == nil {
		return 1
	}
	return 1 + w.joint[j]*w.joint[j]
}

// insideAt returns the weight of coordinate j in the inner product of a contribution and
// Query.Inside. If the record's gradient is g, the inner product is Σ_j insideAt(j)·g_j.
func (w *draw) insideAt(j int) float64 {
	switch {
	case w.inside == nil:
		return 0
	case w.joint == nil:
		return w.inside[j]
	}
	return w.inside[j] + w.joint[j]*w.inside[len(w.grad)+j]
}

func (w *draw) weighDense(dw *denseWeights, c *denseLayout) {
	n := len(c.coords)
	row := 0
	for k, path := range c.paths {
		for e := range c.tableSize(k) {
			w.shared.Slope(path, e, w.grad)
			for j, coord := range c.coords {
				dw.jacobian[row*n+j] = w.grad[coord]
			}
			w.clean(path)
			row++
		}
	}
	dw.norm, dw.cross = nil, nil
	if w.joint != nil {
		dw.norm = dw.norms
	}
	if w.inside != nil {
		dw.cross = dw.crosses
	}
	for j, coord := range c.coords {
		dw.norms[j], dw.crosses[j] = w.double(int(coord)), w.insideAt(int(coord))
	}
}

// clean sets the elements of grad that belong to the path's parameters to zero.
func (w *draw) clean(path *tape.Path) {
	for _, q := range path.Parameters {
		o := w.shared.Offset(q)
		clear(w.grad[o : o+w.shared.Free(q)])
	}
}

// tableSize returns the number of elements of table k of the component.
func (c *denseLayout) tableSize(k int) int {
	if k+1 < len(c.start) {
		return c.start[k+1] - c.start[k]
	}
	return c.size - c.start[k]
}
