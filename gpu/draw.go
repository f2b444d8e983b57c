package gpu

import (
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/tape"
)

// draw contains the values that depend on a point θ and not on records: the values that all
// records share, and weights for norms and sums of gradients.
type draw struct {
	shared *model.Shared
	joint  []float64 // vector v of Query.Joint for this draw, or nil
	inside []float64 // part of Query.Inside for this draw, or nil
	leaves []leafWeights
	dense  []denseWeights
	grad   []float64 // scratch vector, zero between uses
	// inside2 is |inside|². It is added to every record's squared norm.
	inside2 float64
}

// leafWeights contains a weight for each element of the table that a leaf reads. A leaf is a
// place where shared values enter the computation of a record.
type leafWeights struct {
	path *tape.Path
	// slope is ∂element/∂coordinate. It is nil if all derivatives are 1.
	slope []float64
	// norm is slope²·(1+v²), the weight in norms. It is nil if all weights are 1.
	norm []float64
	// cross is slope·(inside_g + v·inside_ρ), the weight of the cross term. It is nil if the
	// query adds no vector inside the clip.
	cross         []float64
	slopes, norms []float64 // buffers for slope and norm
	crosses       []float64
}

// denseWeights holds the weights of a dense component.
type denseWeights struct {
	jacobian []float64 // Jacobian: a row for each element, a column for each coordinate
	norm     []float64 // weight 1+v² of each coordinate; nil if all weights are 1
	cross    []float64
	norms    []float64
	crosses  []float64
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

// set computes the values of the draw at the point theta. inside is the part of Query.Inside for
// this draw, or nil.
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

// double returns the squared norm of a contribution whose gradient is 1 in coordinate j and 0
// elsewhere. It is 1+v² with the vector v of Query.Joint, and 1 in aligned mode.
func (w *draw) double(j int) float64 {
	if w.joint == nil {
		return 1
	}
	return 1 + w.joint[j]*w.joint[j]
}

// insideAt returns element j of the vector u for which u·g is the inner product of the vector
// inside the clip and the contribution of a record with gradient g.
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

// clean sets some elements of the scratch vector to zero: those that the slope of a path has
// written.
func (w *draw) clean(path *tape.Path) {
	for _, q := range path.Parameters {
		o := w.shared.Offset(q)
		clear(w.grad[o : o+w.shared.Free(q)])
	}
}

// tableSize returns the number of elements of table k.
func (c *denseLayout) tableSize(k int) int {
	if k+1 < len(c.start) {
		return c.start[k+1] - c.start[k]
	}
	return c.size - c.start[k]
}
