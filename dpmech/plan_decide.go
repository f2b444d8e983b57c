package dpmech

import (
	"errors"
	"fmt"
)

// mostDecided is how many samples of a plan a device may leave open. Each is with a
// probability of some 2^-50: many are left open by a device that is at fault.
const mostDecided = 64

// Decide decides a sample that a device has left open, with numbers of any length, and takes the
// steps back, for a device to take them anew from their beginning: [Plan.Words] has the
// sample then. open is its number as a device has it: in the upper half its step and one, in the
// lower half which one of the step's it is. Decide refuses a sample that is not of the plan, or
// that the device was told before.
//
// What is released is then what it would be if the device had such numbers itself: who takes the
// steps, and how it rounds, does not depend on the noise.
func (p *planSteps) Decide(open uint64) error {
	step, j := uint32(open>>32)-1, uint32(open)
	switch {
	case !p.lent:
		return errors.New("plan: a sample is open of steps that no device has")
	case p.noise == nil || open>>32 == 0 || uint64(step) >= uint64(p.steps) || uint64(j) >= uint64(p.samples):
		return fmt.Errorf("plan: a device leaves sample %d of step %d open, of %d samples of %d steps", j, step, p.samples, p.steps)
	case len(p.decided) >= 2*mostDecided:
		return fmt.Errorf("plan: a device leaves more than %d samples open", mostDecided)
	}
	for i := 0; i < len(p.decided); i += 2 {
		if p.decided[i] == open {
			return fmt.Errorf("plan: a device leaves sample %d of step %d open, which it was told", j, step)
		}
	}
	if p.decided == nil {
		p.decided = make([]uint64, 0, 2*mostDecided) // does not grow, so that no copy is left behind
	}
	p.decided = append(p.decided, open, uint64(p.noiseAt(step, j)))
	p.lent = false
	return nil
}

// noiseAt returns sample j of a step's noise.
func (p *planSteps) noiseAt(step, j uint32) int64 {
	p.placeNoise(&p.bits, step, int(j))
	for range j % 8 {
		p.bits.Uint64()
	}
	return p.keys.sample(p.noise, p.bits.Uint64(), step, j, &p.more)
}
