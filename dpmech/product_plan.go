package dpmech

import (
	"fmt"
	"slices"
)

// A ProductPlan is some of the steps of a [ProductRun], for a machine that takes them all
// without coming back, as a [Plan] is of a [SampledRun]: who has a batch, noise, and draws
// for every record follow from its keys (docs/develop/device.md). Its methods that ProductRun has as
// well take the same steps here.
//
// A device adds up the records of a batch, in their order, in float32, by fused operations:
// an element of the sum takes part in as many roundings as there are records at most, and
// none flushes small numbers to zero. That is what the error that the sensitivity has is
// about. Records beyond Together it adds as integers: each of their elements, a product of two
// float32 numbers in float64, truncated to the lattice. A clipped vector is at most C long, and
// truncated it is no longer. Norms, factors and the rounding to the lattice are those of
// [ProductRun], in float64, with correctly rounded roots and quotients.
type ProductPlan struct {
	recordSteps
	of  *ProductSum
	run *ProductRun // made when a step is taken here
}

// Plan uses up the next steps and returns them. Keys come from the streams, and from
// draws for bits and normal numbers of records.
func (r *ProductRun) Plan(steps int, streams *Streams, draws *Stream) (*ProductPlan, error) {
	if steps < 1 || steps > r.Remaining() {
		return nil, fmt.Errorf("product sum: a plan of %d steps, of %d that are left: %w", steps, r.Remaining(), ErrNoSteps)
	}
	if err := r.of.Plannable(); err != nil {
		return nil, err
	}
	if most := maxPlan(r.of.sampler); steps > most {
		return nil, fmt.Errorf("product sum: a plan of %d steps: at most %d are possible", steps, most)
	}
	r.taken += steps
	p := &ProductPlan{recordSteps: recordSteps{newPlanSteps(steps, streams, draws)}, of: r.of}
	p.noise = zigguratOf(uint64(r.of.sigma), 1) // of the same law as that of steps without a plan
	p.samples = r.of.PlanStart(len(r.of.cfg.Layers))
	return p, nil
}

// mostPlannedPlaces keeps the number of a sample in 32 bits.
const mostPlannedPlaces = 1 << 31

// Plannable returns why [ProductRun.Plan] would refuse every plan, nil if it would not.
func (s *ProductSum) Plannable() error {
	if _, err := plannedBatches(s.sampler); err != nil {
		return fmt.Errorf("product sum: %w", err)
	}
	if n := s.PlanStart(len(s.cfg.Layers)); n > mostPlannedPlaces {
		return fmt.Errorf("product sum: %d elements are too many for a plan: at most %d are possible", n, mostPlannedPlaces)
	}
	return nil
}

// planColumns is what the columns of a plan's matrices are rounded up to: as many samples
// as a block of a key stream has words for.
const planColumns = 8

// PlanStride returns how far apart the rows of a layer are in the numbering of a plan's
// samples: its outputs, rounded up to a multiple of eight.
func (l ProductLayer) PlanStride() int {
	return (l.Outputs + planColumns - 1) / planColumns * planColumns
}

// PlanStart returns the number of the first sample of a layer: that of element (row,
// column) is the start, and row·[ProductLayer.PlanStride] + column.
func (s *ProductSum) PlanStart(layer int) int {
	at := 0
	for _, l := range s.cfg.Layers[:layer] {
		at += l.Inputs * l.PlanStride()
	}
	return at
}

// Mechanism returns the product sum whose steps these are.
func (p *ProductPlan) Mechanism() *ProductSum { return p.of }

// Records returns the number of records that batches are drawn from.
func (p *ProductPlan) Records() int { return p.of.cfg.Records }

// MaxBatch returns how many records a batch has at most.
func (p *ProductPlan) MaxBatch() int { return p.of.sampler.MaxBatch() }

// Layers returns what a record's vector is made of.
func (p *ProductPlan) Layers() []ProductLayer { return slices.Clone(p.of.cfg.Layers) }

// Words appends to dst what a device has to know to take all steps, as [Plan.Words] does:
// where that has the gate's numbers are the largest norm that is not shortened, and
// Together.
func (p *ProductPlan) Words(dst []uint64) ([]uint64, error) {
	if err := p.lend(); err != nil {
		return nil, err
	}
	s := p.of
	step := s.lattice.Step()
	return p.appendWords(dst, s.sampler, s.cfg.Records, planGate{
		dim: s.dim, step: step, perStep: 1 / step, clip: s.limit(), length: float64(s.cfg.Together),
	}), nil
}

// here returns the run that takes steps here. Its matrices are made when they are needed.
func (p *ProductPlan) here() *ProductRun {
	if p.run == nil {
		run, err := p.of.newRun()
		if err != nil {
			panic("dpmech: " + err.Error()) // unreachable: there was one before
		}
		run.plan = p
		p.run = run
	}
	return p.run
}

// Parts is [ProductRun.Parts].
func (p *ProductPlan) Parts() []ProductPart { return p.here().Parts() }

// Size is [ProductRun.Size].
func (p *ProductPlan) Size(part int) int { return p.here().Size(part) }

// Next begins the next step of the plan, as [ProductRun.Next] does. It refuses one that a
// device has, until Reclaim.
func (p *ProductPlan) Next() ([]uint32, error) {
	r := p.here()
	step, err := p.begin()
	if err != nil {
		return nil, err
	}
	return r.begin(p.appendBatch(r.batch[:0], r.sampler, step)), nil
}

// Put is [ProductRun.Put].
func (p *ProductPlan) Put(place int, pairs []Pair) error { return p.here().Put(place, pairs) }

// Release is [ProductRun.Release].
func (p *ProductPlan) Release(part int, dst []float32) error { return p.here().Release(part, dst) }

// Wipe is [Plan.Wipe]. What was begun here cannot be released any more: without the keys there
// is no noise.
func (p *ProductPlan) Wipe() {
	p.recordSteps.Wipe()
	if p.run == nil {
		return
	}
	for i := range p.run.parts {
		part := &p.run.parts[i]
		part.released = true
		part.noise.Wipe()
		part.more.Wipe()
	}
}

// fillNoise makes the samples of the first columns of a panel of a part, and makes the others
// zero: word j of the step's stream makes sample j.
func (p *ProductPlan) fillNoise(dst []int64, part *productPart, panel, columns int) {
	const width = 16 // of a panel
	step, layer := uint32(p.begun-1), p.of.cfg.Layers[part.Layer]
	start, stride := p.of.PlanStart(part.Layer), layer.PlanStride()
	clear(dst)
	for row := range len(dst) / width {
		j := start + (part.From+row)*stride + panel*width
		p.placeNoise(&part.noise, step, j)
		for c := range columns {
			dst[row*width+c] = p.keys.sample(p.noise, part.noise.Uint64(), step, uint32(j+c), &part.more)
		}
	}
}

// recordSteps are planned steps that draw for every record of a batch by itself, so that
// what is made of a record does not depend on who else is in the batch.
type recordSteps struct{ planSteps }

// PlaceBits moves src to the bits, which hide nothing, that the step that was begun last has
// for a record. Several goroutines may do so at once, each with its own src.
func (p *recordSteps) PlaceBits(src *Stream, record uint32) {
	p.place(src, forBits, record)
}

// RecordNormals sets every element of dst to a standard normal number that the step that was
// begun last has for a record, as [Plan.Normals] does. It uses src for it.
func (p *recordSteps) RecordNormals(dst []float64, src *Stream, record uint32) {
	p.place(src, forDraws, record)
	portableNormals(dst, src)
}

// A BatchPlan is batches, and draws for their records, of steps that hide nothing: of a
// computation that promises nobody anything, to be compared with that of a [ProductPlan].
type BatchPlan struct {
	recordSteps
	sampler Sampler
	records int
	batch   []uint32
}

// NewBatchPlan returns steps of a sampling of records.
func NewBatchPlan(sampling Sampling, records, steps int, src, draws *Stream) (*BatchPlan, error) {
	sampler, err := sampling.Sampler(records)
	if err == nil {
		_, err = plannedBatches(sampler)
	}
	if err == nil && (steps < 1 || steps > maxPlan(sampler)) {
		err = fmt.Errorf("%d steps: from 1 to %d are possible", steps, maxPlan(sampler))
	}
	if err != nil {
		return nil, fmt.Errorf("batch plan: %w", err)
	}
	return &BatchPlan{recordSteps: recordSteps{newPlanSteps(steps, &Streams{src, src}, draws)}, sampler: sampler, records: records}, nil
}

// Records returns the number of records that batches are drawn from.
func (p *BatchPlan) Records() int { return p.records }

// MaxBatch returns how many records a batch has at most.
func (p *BatchPlan) MaxBatch() int { return p.sampler.MaxBatch() }

// Words appends to dst what a device has to know, without noise.
func (p *BatchPlan) Words(dst []uint64) ([]uint64, error) {
	if err := p.lend(); err != nil {
		return nil, err
	}
	return p.appendWords(dst, p.sampler, p.records, planGate{}), nil
}

// Next begins the next step and returns its batch, in the order of the records.
func (p *BatchPlan) Next() ([]uint32, error) {
	step, err := p.begin()
	if err != nil {
		return nil, err
	}
	p.batch = p.appendBatch(p.batch[:0], p.sampler, step)
	slices.Sort(p.batch)
	return p.batch, nil
}
