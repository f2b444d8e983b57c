package gpu

import (
	"errors"
	"math"
)

var errNoSink = errors.New("each: no sink")

// hessian has the scratch of [cpu.Hessian].
type hessian struct {
	at, up, down, full []float64
	query              Query
}

// differenceStep is the relative step of central differences of a gradient: the
// cube root of the machine's precision, which balances truncation with rounding.
const differenceStep = 6.0554544523933429e-6

// Hessian implements Evaluator by central differences of the exact gradient along
// every coordinate, which costs 2d gradients; errors are about 1e-10 of its size.
// It is symmetric by averaging.
func (e *cpu) Hessian(dst, theta []float64, batch []int32) error {
	d := e.p.d
	if len(dst) != d*(d+1)/2 || len(theta) != d {
		return errors.New("hessian: it needs d coordinates and d(d+1)/2 elements")
	}
	if e.hessian == nil {
		e.hessian = &hessian{make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d*d), Query{Clip: math.Inf(1)}}
		e.hessian.query.Draws = [][]float64{e.hessian.at}
	}
	h := e.hessian
	copy(h.at, theta)
	h.query.Batch = batch
	for i := range d {
		step := differenceStep * (1 + math.Abs(theta[i]))
		high, low := theta[i]+step, theta[i]-step
		if err := e.slope(h, i, high, h.up); err != nil {
			return err
		}
		if err := e.slope(h, i, low, h.down); err != nil {
			return err
		}
		h.at[i] = theta[i]
		for j := range d {
			h.full[i*d+j] = (h.up[j] - h.down[j]) / (high - low)
		}
	}
	k := 0
	for i := range d {
		for j := range i + 1 {
			dst[k] = (h.full[i*d+j] + h.full[j*d+i]) / 2
			k++
		}
	}
	return nil
}

// slope writes the gradient with coordinate i at x.
func (e *cpu) slope(h *hessian, i int, x float64, dst []float64) error {
	h.at[i] = x
	total, err := e.Sum(dst, &h.query)
	if err == nil && total.Refused > 0 {
		err = errors.New("hessian: the log density of a record is not finite near this point")
	}
	return err
}
