package dpmech

import (
	"errors"
	"fmt"
)

// mostDecided is the maximum number of noise samples that Decide computes for a plan. On a correct
// device, the probability that the device's integers have too few bits for a sample is about 2^-50,
// so more such samples indicate a faulty device.
const mostDecided = 64

// Decide computes one noise sample of a plan that a device could not compute because its integers
// have too few bits. Decide uses integers of any length. It also takes the steps back from the
// device, which can then compute them again from the beginning, with the sample in the result of
// [Plan.Words]. The upper half of open is the number of the step plus one, and the lower half is
// the device's number of the sample within the step. Decide returns an error for a sample that is
// not in the plan, and for a sample that the device already has.
//
// The release is then the same as if the device itself could compute with integers of any length.
// The value of the noise therefore affects neither which machine computes the steps nor how the sum
// is rounded.
func (p *planSteps) Decide(open uint64) error {
	step, j := uint32(open>>32)-1, uint32(open)
	switch {
	case !p.lent:
		return errors.New("plan: an open sample, but no device has the steps")
	case p.noise == nil || open>>32 == 0 || uint64(step) >= uint64(p.steps) || uint64(j) >= uint64(p.samples):
		return fmt.Errorf("plan: a device leaves sample %d of step %d open, but there are %d samples in %d steps", j, step, p.samples, p.steps)
	case len(p.decided) >= 2*mostDecided:
		return fmt.Errorf("plan: a device leaves more than %d samples open", mostDecided)
	}
	for i := 0; i < len(p.decided); i += 2 {
		if p.decided[i] == open {
			return fmt.Errorf("plan: a device leaves sample %d of step %d open, although it was given that sample", j, step)
		}
	}
	if p.decided == nil {
		p.decided = make([]uint64, 0, 2*mostDecided) // allocated for all samples at once, because growing the slice would leave copies in memory
	}
	p.decided = append(p.decided, open, uint64(p.noiseAt(step, j)))
	p.lent = false
	return nil
}

func (p *planSteps) noiseAt(step, j uint32) int64 {
	p.placeNoise(&p.bits, step, int(j))
	for range j % 8 {
		p.bits.Uint64()
	}
	return p.keys.sample(p.noise, p.bits.Uint64(), step, j, &p.more)
}
