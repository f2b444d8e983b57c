package dpmech

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"fedpvi/dpmech/internal/stream"
)

// A Plan is some of the steps of a [SampledRun], for a machine that takes them all
// without coming back, such as a graphics card. They are used up when the plan is made:
// whatever becomes of it, they are paid for.
//
// All that chance decides in a step follows from the plan's keys, bit for bit the same on
// every machine (docs/develop/device.md): who is in the batch, the noise, and draws that hide
// nothing. [Plan.Words] has the keys, the batches or the sampler's table, and the table of the noise of the
// mechanism that stated the cost, and is all that a device knows of either. [Plan.Next]
// takes the same steps here: it is what a device is compared with, and what takes them where one
// fails. One of the two takes the steps, never both: the same noise would hide two sums.
//
// Which of the two it is must not follow from noise or records, since they do not round alike. So
// a sample of the noise that a device cannot decide is decided here, by [Plan.Decide], and the
// device takes the steps all the same.
//
// It is not safe for concurrent use.
type Plan struct {
	planSteps
	run *SampledRun // its sampler and its sums; it counts nothing
}

// planSteps are what all plans have: how many steps, which were taken, and keys.
type planSteps struct {
	steps, begun int
	lent         bool // to a device
	keys         planKeys
	bits, more   Stream

	noise   *discreteZiggurat // nil for none
	samples int               // of a step's noise are numbered below that
	decided []uint64          // pairs of numbers, as a device has them, and samples
}

// planKeys are 256 bits for each of what has nothing to do with the others.
type planKeys struct{ sampling, noise, draws [stream.KeySize]byte }

// The first word of a nonce says what the key stream is for, the second one is the
// number of the step in its plan, and the third one, where samples have streams of their
// own, the number of the sample.
const (
	forBatch = iota
	forNoise
	forMoreNoise
	forDraws
	forBits // of a record, where steps draw for every record by itself
)

// Plan uses up the next steps and returns them. Keys come from the streams, and from
// draws for the numbers of [Plan.Normals].
//
// It takes [FullBatch], [Poisson] and [WithoutReplacement]: of the latter two a device draws
// the batches itself by [Feistel], and has them listed if they are [Exact], of at most
// [SampledSum.MaxPlan] steps.
func (r *SampledRun) Plan(steps int, streams *Streams, draws *Stream) (*Plan, error) {
	if steps < 1 || steps > r.Remaining() {
		return nil, fmt.Errorf("sampled sum: a plan of %d steps, of %d that are left: %w", steps, r.Remaining(), ErrNoSteps)
	}
	if err := r.of.Plannable(); err != nil {
		return nil, err
	}
	if most := r.of.MaxPlan(); steps > most {
		return nil, fmt.Errorf("sampled sum: a plan of %d steps: at most %d are possible", steps, most)
	}
	r.taken += steps
	p := &Plan{newPlanSteps(steps, streams, draws), r.of.Begin()}
	p.noise, p.samples = r.of.gate.noise.layers, r.of.cfg.Dim
	return p, nil
}

// newPlanSteps draws the keys of steps that have no noise.
func newPlanSteps(steps int, streams *Streams, draws *Stream) planSteps {
	p := planSteps{steps: steps}
	drawKey(&p.keys.sampling, streams.Sampling)
	drawKey(&p.keys.noise, streams.Noise)
	drawKey(&p.keys.draws, draws)
	return p
}

// Plannable returns why [SampledRun.Plan] would refuse every plan, nil if it would not.
func (s *SampledSum) Plannable() error {
	if _, err := plannedBatches(s.sampler); err != nil {
		return fmt.Errorf("sampled sum: %w", err)
	}
	if d := s.cfg.Dim; d > maxPlanned {
		return fmt.Errorf("sampled sum: a vector of %d elements is too long for a plan: at most %d are possible", d, maxPlanned)
	}
	return nil
}

// MaxPlan returns the most steps that a plan can have: a list of batches has some 2^24 records.
func (s *SampledSum) MaxPlan() int { return maxPlan(s.sampler) }

func maxPlan(sampler Sampler) int {
	if how, err := plannedBatches(sampler); err != nil || how.kind != listedRecords {
		return math.MaxInt32
	}
	return max(1, int((1<<24)/max(1, sampler.MeanBatch())))
}

// maxPlanned keeps the rounding of a squared norm as small as [gate.add] has it, if a
// device adds a quarter of the squares in sequence.
const maxPlanned = provenDim

// Mechanism returns the sampled sum whose steps these are.
func (p *Plan) Mechanism() *SampledSum { return p.run.of }

// Steps returns the number of steps.
func (p *planSteps) Steps() int { return p.steps }

// Remaining returns how many of them Next has not taken.
func (p *planSteps) Remaining() int { return p.steps - p.begun }

// begin counts a step that is taken here, and returns its number.
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

// lend says that a device takes the steps. It refuses a plan of which a step was taken, or
// that a device has.
func (p *planSteps) lend() error {
	if p.lent || p.begun > 0 {
		return errors.New("plan: its steps are taken elsewhere")
	}
	p.lent = true
	return nil
}

// Reclaim says that nobody has seen, or will see, what a device made of the steps that
// Words handed to it, so that they can be taken here.
func (p *planSteps) Reclaim() { p.lent = false }

// Wipe forgets the keys, and the steps with them. What was copied by Words is up to who has it.
func (p *planSteps) Wipe() {
	p.keys = planKeys{}
	p.bits.Wipe()
	p.more.Wipe()
	clear(p.decided)
	p.begun, p.lent = p.steps, false
}

// Next is [SampledRun.Next] for the next step of the plan. It refuses one that a device
// has, until [Plan.Reclaim].
func (p *Plan) Next(dst []int64, query SampledQuery) error {
	r := p.run
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

// fillNoise sets every element of dst to a sample of the mechanism's noise: element j is
// made of word j of the step's stream, and, where that is not enough, of a stream of its
// own.
func (p *Plan) fillNoise(dst []int64, step uint32) {
	stream.Place(&p.bits, p.keys.noise, [3]uint32{forNoise, step})
	for j := range dst {
		dst[j] = p.keys.sample(p.noise, p.bits.Uint64(), step, uint32(j), &p.more)
	}
}

// appendBatch appends the batch of a step to dst.
func (p *planSteps) appendBatch(dst []uint32, sampler Sampler, step uint32) []uint32 {
	stream.Place(&p.bits, p.keys.sampling, [3]uint32{forBatch, step})
	return sampler.Next(dst, &p.bits)
}

// placeNoise moves src to the word of sample j of a step, a multiple of eight.
func (p *planSteps) placeNoise(src *Stream, step uint32, j int) {
	stream.PlaceAt(src, p.keys.noise, [3]uint32{forNoise, step}, uint32(j/8))
}

// place moves src to what the step that was begun last draws for a record.
func (p *planSteps) place(src *Stream, purpose, record uint32) {
	stream.Place(src, p.keys.draws, [3]uint32{purpose, uint32(p.begun - 1), record})
}

// sample makes sample j of a step's noise of its word, and of a stream of its own, which it
// begins at more, where that is not enough.
func (k *planKeys) sample(z *discreteZiggurat, w uint64, step, j uint32, more *Stream) int64 {
	if x, enough := z.atOnce(w); enough {
		return x
	}
	stream.Place(more, k.noise, [3]uint32{forMoreNoise, step, j})
	x, kept := z.draw(w, more)
	for !kept {
		x, kept = z.draw(more.Uint64(), more)
	}
	return x
}

// drawKey sets key to the next 256 bits of src.
func drawKey(key *[stream.KeySize]byte, src *Stream) {
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], src.Uint64())
	}
}

// planned is how a device has its batches: of all records, of a number of them that a
// table gives, or of a fixed one, or as they are listed.
type planned struct {
	kind  uint64
	first int       // the size, or the least that the table has
	table *binomial // nil if the size is fixed
}

// The kinds of batches.
const (
	allRecords = iota
	someRecords
	listedRecords
)

// plannedBatches returns how a device draws the batches of a sampler.
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
	return planned{}, errors.New("no plan can be made of this sampling: a device has Poisson batches, batches without replacement and full ones")
}
