package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/dpmech/internal/stream"
)

// A Plan contains several steps of a [SampledRun] for a device, such as a graphics card, which
// computes all of them in one call. Making the plan charges these steps, even if they are never
// computed.
//
// The keys of the plan determine all random numbers of a step: those that select the batch, the
// noise, and those that protect no data. All of them are the same on every machine, bit for bit
// (docs/develop/device.md). [Plan.Words] returns the keys, the tables from which the noise is
// computed, and either the batches or a table from which the batches are computed. A device needs
// no other data of the mechanism. [Plan.Next] computes the same steps on this machine, for tests
// and in case the device fails. Either the device or this machine computes the steps, never both,
// because the same noise would then hide two sums.
//
// A device and this machine round differently, so the choice between them must not depend on noise
// or records. A device computes with integers of limited length, which are too short for a few
// samples of the noise. [Plan.Decide] computes only these samples on this machine, and the device
// still computes the steps.
//
// A Plan is not safe for concurrent use.
type Plan struct {
	planSteps
	of  *SampledSum
	run *SampledRun // computes the steps on this machine without counting them; nil until it is needed
}

// planSteps is the common part of [Plan], [ProductPlan] and [BatchPlan]: the number of steps, how
// many of them this machine has computed, and the keys.
type planSteps struct {
	steps, begun int
	lent         bool // whether a device is computing the steps
	keys         planKeys
	bits, more   Stream

	noise   *discreteZiggurat // sampler of the noise; nil if there is no noise
	samples int               // upper bound on the indices of the noise samples in a step
	decided []uint64          // results of Decide, two words each: the sample's position in the plan, and its value
}

// planKeys has independent keys of 256 bits for the different purposes.
type planKeys struct{ sampling, noise, draws [stream.KeySize]byte }

// These are the purposes of a plan's key streams. They keep the streams apart: the first word of a
// stream's nonce is the purpose, and the second is the number of the step in its plan. If a stream
// belongs to a single sample or record, the third word is the number of the sample or record.
const (
	forBatch = iota
	forNoise
	forMoreNoise
	forDraws
	forBits // random bits for one record, in plans in which each record has its own random numbers
)

// Plan returns a plan of the next steps of the run. The run cannot use these steps again. The keys
// for the batches and the noise are drawn from streams, and the key for [Plan.Normals] from draws.
//
// Plan supports [FullBatch], [Poisson] and [WithoutReplacement]. With [WithoutReplacement], the
// selection [Feistel] lets a device draw the batches itself. With [Exact] the plan lists the batches,
// so it has at most [SampledSum.MaxPlan] steps.
func (r *SampledRun) Plan(steps int, streams *Streams, draws *Stream) (*Plan, error) {
	if steps < 1 || steps > r.Remaining() {
		return nil, fmt.Errorf("sampled sum: a plan of %d steps, but %d are left: %w", steps, r.Remaining(), ErrNoSteps)
	}
	if err := r.of.Plannable(); err != nil {
		return nil, err
	}
	if most := r.of.MaxPlan(); steps > most {
		return nil, fmt.Errorf("sampled sum: a plan of %d steps: at most %d are supported", steps, most)
	}
	r.taken += steps
	p := &Plan{planSteps: newPlanSteps(steps, streams, draws), of: r.of}
	p.noise, p.samples = r.of.gate.noise.layers, r.of.cfg.Dim
	return p, nil
}

// newPlanSteps draws the keys of a new plan. The keys for sampling and noise come from streams, and
// the key for random numbers that protect no data comes from draws.
func newPlanSteps(steps int, streams *Streams, draws *Stream) planSteps {
	p := planSteps{steps: steps}
	drawKey(&p.keys.sampling, streams.Sampling)
	drawKey(&p.keys.noise, streams.Noise)
	drawKey(&p.keys.draws, draws)
	return p
}

// Plannable returns nil if the mechanism supports plans. Otherwise it returns the error that
// [SampledRun.Plan] would return.
func (s *SampledSum) Plannable() error {
	if s.cfg.Rows != nil {
		return errors.New("sampled sum: devices do not add up the rows of a person: leave the device out")
	}
	if _, err := plannedBatches(s.sampler); err != nil {
		return fmt.Errorf("sampled sum: %w", err)
	}
	if d := s.cfg.Dim; d > maxPlanned {
		return fmt.Errorf("sampled sum: a vector of %d elements is too long for a plan: at most %d are supported", d, maxPlanned)
	}
	return nil
}

// MaxPlan returns the maximum number of steps in a plan. If a plan must list its batches, the lists
// then have about 2^24 records at most.
func (s *SampledSum) MaxPlan() int { return maxPlan(s.sampler) }

func maxPlan(sampler Sampler) int {
	if how, err := plannedBatches(sampler); err != nil || how.kind != listedRecords {
		return math.MaxInt32
	}
	return max(1, int((1<<24)/max(1, sampler.MeanBatch())))
}

// maxPlanned is the maximum number of elements of a vector on a device. Like the gate, a device
// adds squares in four partial sums. Up to this number of elements the rounding error is within the
// bound of [gate.add].
const maxPlanned = provenDim

// Mechanism returns the mechanism whose steps are in the plan.
func (p *Plan) Mechanism() *SampledSum { return p.of }

// here returns the run that computes the plan's steps on this machine. The first call makes it, and
// computes the distribution of the batch size for this. If a device computes the steps, this work
// is not needed.
func (p *Plan) here() *SampledRun {
	if p.run == nil {
		p.run = p.of.Begin()
	}
	return p.run
}

// Steps returns the number of steps.
func (p *planSteps) Steps() int { return p.steps }

// Remaining returns how many steps Next has not computed yet.
func (p *planSteps) Remaining() int { return p.steps - p.begun }

// begin counts a step that this machine computes, and returns its number.
func (p *planSteps) begin() (step uint32, err error) {
	switch {
	case p.lent:
		return 0, errors.New("plan: a device takes these steps")
	case p.begun >= p.steps:
		return 0, fmt.Errorf("plan: %w (%d)", ErrNoSteps, p.steps)
	}
	p.begun++
	return uint32(p.begun - 1), nil
}

// lend records that a device is computing the steps. It returns an error if this machine has
// already begun to compute them, or if they were already given to a device.
func (p *planSteps) lend() error {
	if p.lent || p.begun > 0 {
		return errors.New("plan: its steps were taken here or by another device")
	}
	p.lent = true
	return nil
}

// Reclaim takes the steps back from a device, so that this machine can compute them. The caller
// guarantees that nobody has seen or will see the device's results for these steps.
func (p *planSteps) Reclaim() { p.lent = false }

// Wipe overwrites the keys, so that the remaining steps can no longer be computed. The caller must
// itself wipe the copies of the keys in the result of Words.
func (p *planSteps) Wipe() {
	p.keys = planKeys{}
	p.bits.Wipe()
	p.more.Wipe()
	clear(p.decided)
	p.begun, p.lent = p.steps, false
}

// Next computes the next step of the plan, as [SampledRun.Next] does. While a device is computing
// the plan, Next returns an error, until [Plan.Reclaim] is called.
func (p *Plan) Next(dst []int64, query SampledQuery) error {
	r := p.here()
	if err := checkDestination(r.of.cfg.Dim, dst, r.sum); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	step, err := p.begin()
	if err != nil {
		return err
	}
	r.batch = p.appendBatch(r.batch[:0], r.sampler, step)
	p.fillNoise(dst, step)
	return r.gather(dst, query)
}

// fillNoise sets each element of dst to a noise sample for a step. Sample j is made from word j of
// the step's key stream. If one word is not enough, the sample gets more from its own stream.
func (p *Plan) fillNoise(dst []int64, step uint32) {
	stream.Place(&p.bits, p.keys.noise, [3]uint32{forNoise, step})
	for j := range dst {
		dst[j] = p.keys.sample(p.noise, p.bits.Uint64(), step, uint32(j), &p.more)
	}
}

// appendBatch appends the batch of the given step to dst.
func (p *planSteps) appendBatch(dst []uint32, sampler Sampler, step uint32) []uint32 {
	stream.Place(&p.bits, p.keys.sampling, [3]uint32{forBatch, step})
	return sampler.Next(dst, &p.bits)
}

// placeNoise moves src to word j of the key stream for a step's noise. Sample j is made from this
// word. j must be a multiple of eight.
func (p *planSteps) placeNoise(src *Stream, step uint32, j int) {
	stream.PlaceAt(src, p.keys.noise, [3]uint32{forNoise, step}, uint32(j/8))
}

// place moves src to the start of the stream for one purpose and one record, in the current step.
func (p *planSteps) place(src *Stream, purpose, record uint32) {
	stream.Place(src, p.keys.draws, [3]uint32{purpose, uint32(p.begun - 1), record})
}

// sample makes noise sample j of a step. w is word j of the step's key stream. If one word is not
// enough, sample uses extra to get more from a separate stream.
func (k *planKeys) sample(z *discreteZiggurat, w uint64, step, j uint32, extra *Stream) int64 {
	if x, enough := z.atOnce(w); enough {
		return x
	}
	stream.Place(extra, k.noise, [3]uint32{forMoreNoise, step, j})
	x, kept := z.draw(w, extra)
	for !kept {
		x, kept = z.draw(extra.Uint64(), extra)
	}
	return x
}

// planned tells a device how to obtain a plan's batches. A batch has all records, a fixed number of
// records, a number of records that is drawn from a table, or the records that the plan lists.
type planned struct {
	kind  uint64
	first int       // fixed size of a batch, or the smallest size in the table
	table *binomial // nil if the size is fixed
}

// These are the kinds of batches in a plan.
const (
	allRecords = iota
	someRecords
	listedRecords
)

// plannedBatches returns the description of a sampler's batches for a device.
func plannedBatches(sampler Sampler) (planned, error) {
	switch sampler := sampler.(type) {
	case fullSampler:
		return planned{allRecords, int(sampler), nil}, nil
	case *poissonSampler:
		if sampler.selection == Feistel {
			return planned{someRecords, sampler.size.first, sampler.size}, nil
		}
		return planned{kind: listedRecords}, nil
	case *fixedSampler:
		if sampler.selection == Feistel {
			return planned{someRecords, sampler.batch, nil}, nil
		}
		return planned{kind: listedRecords}, nil
	}
	return planned{}, errors.New("devices do not support this sampling: use Poisson batches, batches without replacement or full batches")
}
