package solver

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/internal/special"
	"fedpvi/pvi/study"
)

// DPSVIOptions are the options of [DPSVI].
type DPSVIOptions struct {
	// Steps is the number of steps in each call to Propose. The mechanism counts the steps of all
	// calls.
	Steps int
	// Draws is the number of draws of θ in a step. Their gradients are released as one vector.
	Draws int
	// Rate is the probability that a record is in a batch. Noisy sums are divided by it.
	Rate float64
	// Gradients selects the gradients that a record contributes for each draw of θ. With
	// [study.PublishedGradients], the public number Records replaces the private number of records.
	Gradients study.Gradients
	Records   float64
	// Optimiser computes a step of q from the gradient. Schedule determines the step sizes, and
	// counts steps over all calls to Propose.
	Optimiser study.Optimiser
	Schedule  gpu.Schedule
	// Average is the fraction of a call's last steps over which q is averaged before Propose
	// returns its factor.
	Average float64
	// InitialSD is an upper bound on the sds of q before the first step.
	InitialSD float64
	// Start, if not nil, sets q before the first step. Otherwise the first step starts at the q of
	// the plan.
	Start *Start
}

// size returns the number of elements that a record contributes to a step's sum, for d coordinates.
func (o *DPSVIOptions) size(d int) int {
	if o.Gradients.Joint() {
		d *= 2
	}
	return d * o.Draws
}

// DPSVI computes the factor of any record program, in studies whose privacy unit is the record or
// the person. With q diagonal, it maximises the local free energy
//
//	E_q[log likelihood] − KL(q‖cavity)
//
// by doubly stochastic variational inference (Jälkö, Dikmen and Honkela, "Differentially Private
// Variational Inference for Non-conjugate Models", 2017). Each step draws θ from q, the same for
// all records, and a batch. It releases the noisy sum of the batch's clipped gradients through a
// [dpmech.SampledSum]. Terms that do not depend on records are added after the noise, except with
// [study.PublishedGradients].
//
// All that DPSVI keeps or proposes is a function of its releases and of public numbers. If noise
// makes a precision of q smaller than the cavity's, the cavity's is used.
//
// DPSVI is not safe for concurrent use.
type DPSVI struct {
	program   *Program
	mechanism *dpmech.SampledSum
	options   DPSVIOptions
	cost      accountant.Event // privacy cost of one step

	run       *dpmech.SampledRun
	optimiser gpu.Optimiser
	visit     *gpu.MeanField // state of the current visit
	under     gpu.MeanFieldOptions
	device    *onDevice // nil if the CPU takes the steps

	streams dpmech.Streams
	draws   dpmech.Stream
	sink    *Sink
	batch   []int32
	noisy   []int64
	total   []float64
	prior   []float64
	sd      []float64
	mean    []float64
	at      *gpu.Query // gradients that the current step computes; nil until θ is drawn

	// These functions are stored to avoid allocations in a step. query adds up the gradients of a
	// batch. normals fills a vector with the standard normals for θ: it is drawn on the CPU, and
	// after a device has failed it reads the numbers meant for the device.
	query   dpmech.SampledQuery
	normals func([]float64)
	drawn   func([]float64)                          // fills a vector with standard normals
	next    func([]int64, dpmech.SampledQuery) error // releases the sum of a query with noise
}

// NewDPSVI returns the solver for the records of p. The mechanism must be for as many records, and
// for vectors with one element for each draw and coordinate of θ, or two if o.Gradients releases
// gradients for the sds as well.
func NewDPSVI(p *Program, m *dpmech.SampledSum, o DPSVIOptions) (*DPSVI, error) {
	d := p.Dim()
	size := o.size(d)
	switch {
	case o.Draws < 1:
		return nil, fmt.Errorf("dp-svi: at least one draw is needed, got %d", o.Draws)
	case m.Dim() != size:
		return nil, fmt.Errorf("dp-svi: the mechanism is for vectors of %d numbers, want %d", m.Dim(), size)
	case m.Rows() != p.records.Rows():
		// The number of records is private, so the error does not name it.
		return nil, errors.New("dp-svi: the mechanism is for another number of records")
	case o.Steps < 1 || m.Steps()%o.Steps != 0:
		return nil, fmt.Errorf("dp-svi: %d steps in all are not a whole number of visits of %d steps", m.Steps(), o.Steps)
	case !(o.InitialSD > 0):
		return nil, fmt.Errorf("dp-svi: the initial sd must be positive, got %g", o.InitialSD)
	}
	optimiser, err := newOptimiser(o.Optimiser, 2*d)
	if err != nil {
		return nil, err
	}
	cost, err := m.EventFor(1, m.Adjacency())
	if err != nil {
		return nil, err
	}
	s := &DPSVI{program: p, mechanism: m, options: o, cost: cost, run: m.Begin(), optimiser: optimiser}
	s.streams = dpmech.Streams{Sampling: new(dpmech.Stream), Noise: new(dpmech.Stream)}
	s.batch = make([]int32, 0, m.MaxBatch())
	s.noisy, s.total, s.sink = make([]int64, size), make([]float64, size), NewSink(size)
	s.prior, s.mean, s.sd = make([]float64, d), make([]float64, d), make([]float64, d)
	s.query = s.sum
	s.drawn = func(dst []float64) { dpmech.FillNormal(dst, &s.draws) }
	s.next = func(dst []int64, q dpmech.SampledQuery) error { return s.run.Next(dst, &s.streams, q) }
	return s, nil
}

// naturalReach limits how far a natural-gradient step moves the mean of a coordinate, in sds.
const naturalReach = 1

func newOptimiser(name study.Optimiser, n int) (gpu.Optimiser, error) {
	switch name {
	case study.Adam:
		return gpu.NewAdam(n), nil
	case study.AdaGrad:
		return gpu.NewAdaGrad(n), nil
	case study.SGD:
		return gpu.SGD{}, nil
	case study.Natural:
		return gpu.Natural{Reach: naturalReach}, nil
	}
	return nil, fmt.Errorf("dp-svi: no optimiser is called %q", name)
}

// Taken returns the number of steps that the solver has taken and charged.
func (s *DPSVI) Taken() int { return s.mechanism.Steps() - s.run.Remaining() }

// Releases returns the number of released sums, including the statistics of a [Start].
func (s *DPSVI) Releases() int {
	if s.options.Start.released() {
		return s.Taken() + 1
	}
	return s.Taken()
}

// Propose implements [Solver]. It takes Steps steps and returns an event for each release. The
// first call also releases the statistics of the Start, if any.
func (s *DPSVI) Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	if err := s.check(p); err != nil {
		return nil, err
	}
	spent, err := s.options.Start.release(src)
	if err != nil {
		return spent, err
	}
	if err := s.begin(p); err != nil {
		return spent, err
	}
	dpmech.Split(s.streams.Sampling, src)
	dpmech.Split(s.streams.Noise, src)
	dpmech.Split(&s.draws, src)
	defer s.wipe()
	from := s.Taken()
	err = s.take()
	spent = slices.Grow(spent, s.Taken()-from)
	for range s.Taken() - from {
		spent = append(spent, s.cost)
	}
	if err != nil {
		return spent, err
	}
	return spent, s.propose(dst, p)
}

func (s *DPSVI) take() error {
	if s.device != nil {
		return s.visitOnDevice()
	}
	s.normals = s.drawn
	for range s.options.Steps {
		if err := s.step(s.next); err != nil {
			return err
		}
	}
	return nil
}

func (s *DPSVI) wipe() {
	s.streams.Wipe()
	s.draws.Wipe()
}

// check returns an error if Propose cannot solve the problem. q must be diagonal, with the
// dimension of the program, and the cavity proper. It is called before any release.
func (s *DPSVI) check(p Problem) error {
	d := s.program.Dim()
	if p.Family.Name() != "diagonal" || p.Family.Dim() != d {
		return fmt.Errorf("dp-svi: q must be diagonal with %d coordinates, got a %s one with %d", d, p.Family.Name(), p.Family.Dim())
	}
	for _, precision := range p.Cavity[d:] {
		if !(precision > 0) {
			return errors.New("dp-svi: q without the client's factor is improper; a smaller inference.damping keeps it proper")
		}
	}
	return nil
}

// begin sets the mean and sds of q for a call to Propose to those of the plan. In the first call a
// Start may replace them, and InitialSD limits the sds.
func (s *DPSVI) begin(p Problem) error {
	d := s.program.Dim()
	copy(s.mean, p.Mean)
	for i, precision := range p.Natural[d:] {
		s.sd[i] = 1 / math.Sqrt(precision)
	}
	if s.Taken() == 0 {
		if err := s.options.Start.place(s.mean, s.sd, p.Cavity); err != nil {
			return err
		}
		for i, sd := range s.sd {
			s.sd[i] = min(sd, s.options.InitialSD)
		}
	}
	mean, precision := make([]float64, d), p.Cavity[d:]
	for i, b := range precision {
		mean[i] = p.Cavity[i] / b
	}
	o := s.options.meanField(mean, precision, s.optimiser)
	o.Schedule = later{o.Schedule, s.Taken(), s.mechanism.Steps()}
	var err error
	s.visit, err = gpu.NewMeanField(s.mean, s.sd, o)
	s.under = o
	return err
}

func (o *DPSVIOptions) meanField(mean, precision []float64, optimiser gpu.Optimiser) gpu.MeanFieldOptions {
	return gpu.MeanFieldOptions{
		Draws: o.Draws, Rate: o.Rate,
		Joint: o.Gradients.Joint(), Preconditioned: o.Gradients == study.Preconditioned,
		Inside: o.Gradients == study.PublishedGradients, Records: o.Records,
		Clip:       math.Inf(1), // the mechanism clips
		CavityMean: mean, CavityPrecision: slices.Clone(precision),
		Optimiser: optimiser, Schedule: o.Schedule, Steps: o.Steps, Average: o.Average,
	}
}

// step takes one step with a noisy sum of gradients from next. If q is no longer finite, it returns
// [ErrDiverged].
func (s *DPSVI) step(next func([]int64, dpmech.SampledQuery) error) error {
	s.at = nil
	if err := next(s.noisy, s.query); err != nil {
		if s.visit.Last(s.mean, s.sd); !special.Finite(s.mean) || !special.Finite(s.sd) {
			return runaway()
		}
		return fmt.Errorf("dp-svi: %w", err)
	}
	unit := s.mechanism.Lattice().Step()
	for i, n := range s.noisy {
		s.total[i] = unit * float64(n)
	}
	s.program.addPriorOf(s.points(), s.total, s.prior, s.options.Rate)
	s.visit.Update(s.total)
	return nil
}

func runaway() error {
	return fmt.Errorf("%w: the steps have diverged; a smaller inference.step_size keeps them finite", ErrDiverged)
}

// points returns the query of the current step, with the values of θ for the gradients. The first
// call in a step draws them, after the release if the batch is empty.
func (s *DPSVI) points() *gpu.Query {
	if s.at == nil {
		s.at = s.visit.Next(s.normals, nil)
	}
	return s.at
}

func (s *DPSVI) sum(batch []uint32, sum *dpmech.Accumulator) error {
	s.batch = AppendBatch(s.batch[:0], batch)
	s.points().Batch = s.batch
	s.sink.Sum = sum
	return s.program.records.Each(s.at, s.sink)
}

// propose writes to dst the factor whose product with the cavity is the averaged q. A negative
// precision of the factor becomes zero, so that the coordinate keeps the sd of the cavity.
func (s *DPSVI) propose(dst []float64, p Problem) error {
	s.visit.Averaged(s.mean, s.sd)
	d := len(s.mean)
	for i, m := range s.mean {
		cavity := p.Cavity[d+i]
		precision := max(1/(s.sd[i]*s.sd[i])-cavity, 0)
		dst[i] = (cavity+precision)*m - p.Cavity[i]
		dst[d+i] = precision
	}
	if !special.Finite(dst) {
		return runaway()
	}
	return nil
}

// A later continues the step sizes of earlier calls to Propose, which took the first taken of total
// steps.
type later struct {
	schedule     gpu.Schedule
	taken, total int
}

// Rate implements gpu.Schedule.
func (l later) Rate(t, _ int) float64 { return l.schedule.Rate(l.taken+t, l.total) }
