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
// every machine (docs/device.md): who is in the batch, the noise, and draws that hide
// nothing. [Plan.Words] has the keys, the batches or the sampler's table, and the table of the noise of the
// mechanism that stated the cost, and is all that a device knows of either. [Plan.Next]
// takes the same steps here: it is what a device is compared with, and goes on where one
// gives up. One of the two takes the steps, never both: the same noise would hide two sums.
//
// It is not safe for concurrent use.
type Plan struct {
	steps, begun int
	lent         bool // to a device
	keys         planKeys
	run          *SampledRun // its sampler and its sums; it counts nothing
	bits, more   Stream
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
	p := &Plan{steps: steps, run: r.of.Begin()}
	drawKey(&p.keys.sampling, streams.Sampling)
	drawKey(&p.keys.noise, streams.Noise)
	drawKey(&p.keys.draws, draws)
	return p, nil
}

// Plannable returns why [SampledRun.Plan] would refuse every plan, nil if it would not.
func (s *SampledSum) Plannable() error {
	if _, err := s.batches(); err != nil {
		return fmt.Errorf("sampled sum: %w", err)
	}
	if d := s.cfg.Dim; d > maxPlanned {
		return fmt.Errorf("sampled sum: a vector of %d elements is too long for a plan: at most %d are possible", d, maxPlanned)
	}
	return nil
}

// MaxPlan returns the most steps that a plan can have: a list of batches has some 2^24 records.
func (s *SampledSum) MaxPlan() int {
	if how, err := s.batches(); err != nil || how.kind != listedRecords {
		return math.MaxInt32
	}
	return max(1, int((1<<24)/max(1, s.MeanBatch())))
}

// maxPlanned keeps the rounding of a squared norm as small as [gate.add] has it, if a
// device adds a quarter of the squares in sequence.
const maxPlanned = provenDim

// Mechanism returns the sampled sum whose steps these are.
func (p *Plan) Mechanism() *SampledSum { return p.run.of }

// Steps returns the number of steps.
func (p *Plan) Steps() int { return p.steps }

// Remaining returns how many of them [Plan.Next] has not taken.
func (p *Plan) Remaining() int { return p.steps - p.begun }

// Next is [SampledRun.Next] for the next step of the plan. It refuses one that a device
// has, until [Plan.Reclaim].
func (p *Plan) Next(dst []int64, query SampledQuery) error {
	switch {
	case p.lent:
		return errors.New("plan: a device takes these steps")
	case p.begun >= p.steps:
		return fmt.Errorf("plan: %w (%d)", ErrNoSteps, p.steps)
	}
	r := p.run
	if err := checkDestination(r.of.cfg.Dim, dst, r.sum); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	step := uint32(p.begun)
	p.begun++
	r.batch = p.appendBatch(r.batch[:0], step)
	p.fillNoise(dst, step)
	return r.gather(dst, query)
}

// appendBatch appends the batch of a step to dst.
func (p *Plan) appendBatch(dst []uint32, step uint32) []uint32 {
	stream.Place(&p.bits, p.keys.sampling, [3]uint32{forBatch, step})
	return p.run.sampler.Next(dst, &p.bits)
}

// fillNoise sets every element of dst to a sample of the mechanism's noise: element j is
// made of word j of the step's stream, and, where that is not enough, of a stream of its
// own.
func (p *Plan) fillNoise(dst []int64, step uint32) {
	stream.Place(&p.bits, p.keys.noise, [3]uint32{forNoise, step})
	z := p.run.of.gate.noise.layers
	for j := range dst {
		w := p.bits.Uint64()
		if x, enough := z.atOnce(w); enough {
			dst[j] = x
			continue
		}
		stream.Place(&p.more, p.keys.noise, [3]uint32{forMoreNoise, step, uint32(j)})
		x, kept := z.draw(w, &p.more)
		for !kept {
			x, kept = z.draw(p.more.Uint64(), &p.more)
		}
		dst[j] = x
	}
}

// Reclaim says that nobody has seen, or will see, what a device made of the steps that
// [Plan.Words] handed to it, so that they can be taken here.
func (p *Plan) Reclaim() { p.lent = false }

// Wipe forgets the keys, and the steps with them. What was copied by [Plan.Words] is up to who has it.
func (p *Plan) Wipe() {
	p.keys = planKeys{}
	p.bits.Wipe()
	p.more.Wipe()
	p.begun, p.lent = p.steps, false
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

// batches returns how a device draws the mechanism's batches.
func (s *SampledSum) batches() (planned, error) {
	switch sampler := s.sampler.(type) {
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
