package ep

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

type dpsepState struct {
	Taken, Since     int // number of steps taken, and taken since the average in Raw (re)started
	Raw, Used, Start []byte
	Rest, Noise      float64

	Velocity, Average []byte // velocity of q's mean; average of q's means
}

// State implements [solver.Solver]. It has the number of charged steps and all numbers of the
// factor, which are functions of released sums.
func (s *DPSEP) State() []byte {
	if s.Releases() == 0 {
		return nil
	}
	f := s.factor
	state, err := json.Marshal(dpsepState{
		Taken: s.Releases(), Since: f.since, Rest: f.rest, Noise: f.noise,
		Raw: floatBytes(f.raw), Used: floatBytes(f.used), Start: floatBytes(f.start),
		Velocity: floatBytes(f.glide.velocity), Average: floatBytes(f.glide.average),
	})
	if err != nil {
		panic("ep: " + err.Error()) // unreachable: bytes and finite numbers always marshal
	}
	return state
}

// Restore implements [solver.Solver].
func (s *DPSEP) Restore(state []byte) error {
	f := newTied(s.factor.tilted, &s.options)
	if len(state) == 0 {
		s.factor, s.run = f, s.mechanism.Begin()
		return nil
	}
	var v dpsepState
	if err := json.Unmarshal(state, &v); err != nil {
		return fmt.Errorf("dp-sep: restoring: %w", err)
	}
	if v.Taken < 1 || v.Since < 0 || v.Since > v.Taken || !(v.Noise >= 0) {
		return fmt.Errorf("dp-sep: restoring: the state is not valid: %d steps taken, %d of them in the average, noise %g", v.Taken, v.Since, v.Noise)
	}
	f.start = make([]float64, len(f.raw))
	for _, of := range []struct {
		dst   []float64
		state []byte
	}{{f.raw, v.Raw}, {f.used, v.Used}, {f.start, v.Start}, {f.glide.velocity, v.Velocity}, {f.glide.average, v.Average}} {
		if len(of.state) != 8*len(of.dst) {
			return fmt.Errorf("dp-sep: restoring: a factor of %d bytes, want %d numbers", len(of.state), len(of.dst))
		}
		for i := range of.dst {
			of.dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(of.state[8*i:]))
		}
	}
	run, err := s.mechanism.Resume(v.Taken)
	if err != nil {
		return fmt.Errorf("dp-sep: restoring: %w", err)
	}
	f.taken, f.since, f.rest, f.noise = v.Taken, v.Since, v.Rest, v.Noise
	s.factor, s.run = f, run
	return nil
}

func floatBytes(v []float64) []byte {
	out := make([]byte, 0, 8*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
	}
	return out
}
