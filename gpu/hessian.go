package gpu

import (
	"errors"
	"math"
)

var errNotFinite = errors.New("hessian: the log density of a record is not finite near this point")

// hessian holds the buffers of [cpu.Hessian].
type hessian struct {
	at, up, down, full []float64
	exact              []bool // coordinates whose rows and columns are already computed exactly
	query              Query
}

// differenceStep is the relative step of central differences of a gradient: the
// cube root of the machine's precision, which balances truncation with rounding.
const differenceStep = 6.0554544523933429e-6

// Hessian implements Evaluator. In the coordinates of a generalised linear predictor the Hessian
// is Σ w_n x_n x_nᵀ with w_n = ∂²ℓ_n/∂η². In other coordinates, and for other programs, its rows
// are central differences of the exact gradient. Each coordinate takes two gradients, and the
// relative error is about 1e-9.
func (e *cpu) Hessian(dst, theta []float64, batch []int32) error {
	d := e.p.d
	if len(dst) != d*(d+1)/2 || len(theta) != d {
		return errors.New("hessian: it needs d coordinates and d(d+1)/2 elements")
	}
	h := e.startHessian(theta, batch)
	if err := e.curvature(h); err != nil {
		return err
	}
	for i := range d {
		if !h.exact[i] {
			if err := e.differences(h, i); err != nil {
				return err
			}
		}
	}
	h.pack(dst)
	return nil
}

func (e *cpu) startHessian(theta []float64, batch []int32) *hessian {
	d := e.p.d
	if e.hessian == nil {
		h := &hessian{
			at: make([]float64, d), up: make([]float64, d), down: make([]float64, d),
			full: make([]float64, d*d), exact: make([]bool, d), query: Query{Clip: math.Inf(1)},
		}
		h.query.Draws = [][]float64{h.at}
		e.hessian = h
	}
	h := e.hessian
	copy(h.at, theta)
	clear(h.full)
	clear(h.exact)
	h.query.Batch = batch
	return h
}

// differences fills row i of the Hessian with central differences of the gradient.
func (e *cpu) differences(h *hessian, i int) error {
	centre := h.at[i]
	step := differenceStep * (1 + math.Abs(centre))
	high, low := centre+step, centre-step
	for _, side := range []struct {
		x   float64
		dst []float64
	}{{high, h.up}, {low, h.down}} {
		h.at[i] = side.x
		total, err := e.Sum(side.dst, &h.query)
		h.at[i] = centre
		if err != nil {
			return err
		}
		if total.Refused > 0 {
			return errNotFinite
		}
	}
	row := h.full[i*e.p.d:][:e.p.d]
	for j := range row {
		row[j] = (h.up[j] - h.down[j]) / (high - low)
	}
	return nil
}

// pack writes the lower triangle to dst. An element (i, j) is the mean of the computed
// elements (i, j) and (j, i).
func (h *hessian) pack(dst []float64) {
	d := len(h.at)
	k := 0
	for i := range d {
		for j := range i + 1 {
			a, b := h.full[i*d+j], h.full[j*d+i]
			switch {
			case h.exact[i] && !h.exact[j]:
				a = b
			case h.exact[i] == h.exact[j]:
				a = (a + b) / 2
			}
			dst[k] = a
			k++
		}
	}
}
