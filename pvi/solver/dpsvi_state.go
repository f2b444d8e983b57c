package solver

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

type dpsviState struct {
	Taken     int     // number of steps taken
	Optimiser []byte  // the optimiser's moments as float64s, which may be NaN or infinite
	Start     []int64 `json:",omitempty"` // released statistics of the Start
}

// State implements [Solver]. It has the number of charged steps, the optimiser's moments, and the
// released statistics.
func (s *DPSVI) State() []byte {
	if s.Releases() == 0 {
		return nil
	}
	v := dpsviState{Taken: s.Taken()}
	if s.options.Start != nil {
		v.Start = s.options.Start.sum
	}
	for _, x := range s.optimiser.AppendState(nil) {
		v.Optimiser = binary.LittleEndian.AppendUint64(v.Optimiser, math.Float64bits(x))
	}
	state, err := json.Marshal(v)
	if err != nil {
		panic("solver: " + err.Error()) // unreachable: integers and bytes always marshal
	}
	return state
}

// Restore implements [Solver].
func (s *DPSVI) Restore(state []byte) error {
	if len(state) == 0 {
		s.optimiser.Reset()
		s.run = s.mechanism.Begin()
		s.options.Start.set(nil)
		return nil
	}
	var v dpsviState
	if err := json.Unmarshal(state, &v); err != nil {
		return fmt.Errorf("dp-svi: restoring: %w", err)
	}
	if v.Taken < 0 || v.Taken == 0 && v.Start == nil || len(v.Optimiser)%8 != 0 {
		return fmt.Errorf("dp-svi: restoring: the state is not valid: %d steps taken, %d bytes of the optimiser", v.Taken, len(v.Optimiser))
	}
	run, err := s.mechanism.Resume(v.Taken)
	if err != nil {
		return fmt.Errorf("dp-svi: restoring: %w", err)
	}
	moments := make([]float64, len(v.Optimiser)/8)
	for i := range moments {
		moments[i] = math.Float64frombits(binary.LittleEndian.Uint64(v.Optimiser[8*i:]))
	}
	if err := s.options.Start.check(v.Start); err != nil {
		return fmt.Errorf("dp-svi: restoring: %w", err)
	}
	if err := s.optimiser.SetState(moments); err != nil {
		return fmt.Errorf("dp-svi: restoring: %w", err)
	}
	s.options.Start.set(v.Start)
	s.run = run
	return nil
}
