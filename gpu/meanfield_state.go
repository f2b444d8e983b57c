package gpu

import (
	"errors"
	"fmt"
)

// AppendState appends the state of the run to dst, including that of the optimiser.
func (r *MeanField) AppendState(dst []float64) []float64 {
	dst = append(dst, float64(r.step), float64(r.averaged))
	dst = append(append(dst, r.point...), r.total...)
	return r.o.Optimiser.AppendState(dst)
}

// SetState restores a state that AppendState has appended in a run with the same options. If the
// length of the state, or its number of steps, is impossible, SetState returns an error and changes
// nothing.
func (r *MeanField) SetState(state []float64) error {
	own := 2 + len(r.point) + len(r.total)
	if len(state) < own {
		return fmt.Errorf("mean field: a state of %d numbers, want at least %d", len(state), own)
	}
	step, averaged := int(state[0]), int(state[1])
	if float64(step) != state[0] || step < 0 || step > r.o.Steps || float64(averaged) != state[1] || averaged < 0 || averaged > step {
		return errors.New("mean field: the state's numbers of steps are impossible")
	}
	if err := r.o.Optimiser.SetState(state[own:]); err != nil {
		return fmt.Errorf("mean field: %w", err)
	}
	r.step, r.averaged = step, averaged
	copy(r.point, state[2:])
	copy(r.total, state[2+len(r.point):])
	return nil
}
