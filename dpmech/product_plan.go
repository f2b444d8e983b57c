package dpmech

import (
	"fmt"
	"slices"
)

// A ProductPlan contains several steps of a [ProductRun] for a device that computes all of them in
// one call, as a [Plan] does for a [SampledRun]. The keys of the plan determine the batches, the
// noise, and the random numbers of every record (docs/develop/device.md). The methods Next, Put and
// Release compute the same steps on this machine, like the methods of ProductRun.
//
// A device adds the records of a batch in order, in float32, with fused operations. An element of
// the sum goes through at most as many roundings as there are records, and no rounding flushes
// small numbers to zero. The error bound in the sensitivity depends on this. The device adds the
// records after the first Together as integers. Each of their elements is a product of two float32
// numbers, which the device computes in float64 and truncates to the lattice. A clipped vector has
// norm at most C, and truncation does not increase the norm. The device computes norms, factors and
// the rounding to the lattice as [ProductRun] does, in float64, with correctly rounded roots and
// quotients.
type ProductPlan struct {
	recordSteps
	of  *ProductSum
	run *ProductRun // nil until this machine computes a step
}

// Plan returns a plan of the next steps of the run. The run cannot use these steps again. The keys
// for the batches and the noise are drawn from streams, and the key for the bits and normal numbers
// of records from draws.
func (r *ProductRun) Plan(steps int, streams *Streams, draws *Stream) (*ProductPlan, error) {
	if steps < 1 || steps > r.Remaining() {
		return nil, fmt.Errorf("product sum: a plan of %d steps, but %d are left: %w", steps, r.Remaining(), ErrNoSteps)
	}
	if err := r.of.Plannable(); err != nil {
		return nil, err
	}
	if most := maxPlan(r.of.sampler); steps > most {
		return nil, fmt.Errorf("product sum: a plan of %d steps: at most %d are supported", steps, most)
	}
	r.taken += steps
	p := &ProductPlan{recordSteps: recordSteps{newPlanSteps(steps, streams, draws)}, of: r.of}
	// The ziggurat has the same distribution as the sampler of a run without a plan.
	p.noise = zigguratOf(uint64(r.of.sigma), 1)
	p.samples = r.of.PlanStart(len(r.of.cfg.Layers))
	return p, nil
}

// mostPlannedPlaces bounds the number of noise samples in a step, so that the number of a sample
// fits in 32 bits.
const mostPlannedPlaces = 1 << 31

// Plannable returns nil if [ProductRun.Plan] supports the mechanism. Otherwise it returns the error
// that Plan would return.
func (s *ProductSum) Plannable() error {
	if _, err := plannedBatches(s.sampler); err != nil {
		return fmt.Errorf("product sum: %w", err)
	}
	if n := s.PlanStart(len(s.cfg.Layers)); n > mostPlannedPlaces {
		return fmt.Errorf("product sum: %d elements are too many for a plan: at most %d are supported", n, mostPlannedPlaces)
	}
	return nil
}

// planColumns is the number of 64-bit words in a block of a key stream. A plan numbers its noise
// samples so that every row of a layer's matrix begins with a new block.
const planColumns = 8

// PlanStride returns the number of noise samples that a plan reserves for one row of the layer's
// matrix. It is Outputs, rounded up to a multiple of eight.
func (l ProductLayer) PlanStride() int {
	return (l.Outputs + planColumns - 1) / planColumns * planColumns
}

// PlanStart returns the number of the first noise sample of a layer. The sample for an element has
// the number PlanStart + row·[ProductLayer.PlanStride] + column.
func (s *ProductSum) PlanStart(layer int) int {
	at := 0
	for _, l := range s.cfg.Layers[:layer] {
		at += l.Inputs * l.PlanStride()
	}
	return at
}

// Mechanism returns the mechanism whose steps are in the plan.
func (p *ProductPlan) Mechanism() *ProductSum { return p.of }

// Records returns the number of records from which batches are drawn.
func (p *ProductPlan) Records() int { return p.of.cfg.Records }

// MaxBatch returns the largest possible size of a batch.
func (p *ProductPlan) MaxBatch() int { return p.of.sampler.MaxBatch() }

// Layers returns the parts of a record's vector.
func (p *ProductPlan) Layers() []ProductLayer { return slices.Clone(p.of.cfg.Layers) }

// Words appends to dst the data that a device needs to compute all steps, like [Plan.Words].
// Instead of the clipping parameters it appends two numbers: the maximum norm of a vector that is
// not shortened, and Together.
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

// here returns the run that computes the plan's steps on this machine. The first call allocates
// the matrices of the run.
func (p *ProductPlan) here() *ProductRun {
	if p.run == nil {
		run, err := p.of.newRun()
		if err != nil {
			panic("dpmech: " + err.Error()) // unreachable, because NewProductSum has accepted the same settings
		}
		run.plan = p
		p.run = run
	}
	return p.run
}

// Parts returns the parts of a release. See [ProductRun.Parts].
func (p *ProductPlan) Parts() []ProductPart { return p.here().Parts() }

// Size returns the number of elements in the release of a part. See [ProductRun.Size].
func (p *ProductPlan) Size(part int) int { return p.here().Size(part) }

// Next begins the next step of the plan and returns its batch, like [ProductRun.Next]. While a
// device computes the plan, Next returns an error, until Reclaim is called.
func (p *ProductPlan) Next() ([]uint32, error) {
	r := p.here()
	step, err := p.begin()
	if err != nil {
		return nil, err
	}
	return r.begin(p.appendBatch(r.batch[:0], r.sampler, step)), nil
}

// Put adds the vector of a record. See [ProductRun.Put].
func (p *ProductPlan) Put(place int, pairs []Pair) error { return p.here().Put(place, pairs) }

// Release releases a part. See [ProductRun.Release].
func (p *ProductPlan) Release(part int, dst []float32) error { return p.here().Release(part, dst) }

// Wipe overwrites the keys. See [Plan.Wipe]. After Wipe, Release cannot finish a step that Next
// began, because the noise follows from the keys.
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

// fillNoise writes the noise for the first columns of a panel to dst, and sets the other columns to
// zero. A panel is a block of 16 columns of a part. The step's stream provides word j for sample j.
func (p *ProductPlan) fillNoise(dst []int64, part *productPart, panel, columns int) {
	const width = 16 // number of columns of a panel
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

// recordSteps has the steps of a plan in which each record of a batch has its own random numbers.
// The result for a record then does not depend on the other records in the batch.
type recordSteps struct{ planSteps }

// PlaceBits moves src to the random bits for one record in the current step. The bits protect no
// data. Several goroutines can call PlaceBits at once, each with its own src.
func (p *recordSteps) PlaceBits(src *Stream, record uint32) {
	p.place(src, forBits, record)
}

// RecordNormals sets every element of dst to a standard normal number for one record in the current
// step, like [Plan.Normals]. It overwrites src.
func (p *recordSteps) RecordNormals(dst []float64, src *Stream, record uint32) {
	p.place(src, forDraws, record)
	portableNormals(dst, src)
}

// A BatchPlan has the batches of steps without noise, and random numbers for their records. It
// gives no privacy. Its purpose is to compare private steps with the same computation without
// privacy.
type BatchPlan struct {
	recordSteps
	sampler Sampler
	records int
	batch   []uint32
}

// NewBatchPlan returns a plan of the given number of steps. The key for the batches is drawn from
// src, and the key for the random numbers of records from draws.
func NewBatchPlan(sampling Sampling, records, steps int, src, draws *Stream) (*BatchPlan, error) {
	sampler, err := sampling.Sampler(records)
	if err == nil {
		_, err = plannedBatches(sampler)
	}
	if err == nil && (steps < 1 || steps > maxPlan(sampler)) {
		err = fmt.Errorf("the number of steps must lie in [1, %[2]d], got %[1]d", steps, maxPlan(sampler))
	}
	if err != nil {
		return nil, fmt.Errorf("batch plan: %w", err)
	}
	return &BatchPlan{recordSteps: recordSteps{newPlanSteps(steps, &Streams{src, src}, draws)}, sampler: sampler, records: records}, nil
}

// Records returns the number of records from which batches are drawn.
func (p *BatchPlan) Records() int { return p.records }

// MaxBatch returns the largest possible size of a batch.
func (p *BatchPlan) MaxBatch() int { return p.sampler.MaxBatch() }

// Words appends to dst the data that a device needs. These data contain no table of the noise,
// because a BatchPlan has no noise.
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
