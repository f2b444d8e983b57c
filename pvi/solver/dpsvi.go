package solver

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/pvi/study"
)

// DPSVIOptions say how [DPSVI] descends.
type DPSVIOptions struct {
	// Steps is the number of steps of one visit; the mechanism counts all.
	Steps int
	// Rate is the probability q with which a record is in a batch, by which noisy sums
	// are divided.
	Rate float64
	// Joint releases the gradient in mean and spread; otherwise only that in the mean
	// is released, and the other follows from it.
	Joint bool
	// Optimiser moves mean and spread, by the sizes of Schedule over all steps of all
	// visits.
	Optimiser study.Optimiser
	Schedule  gpu.Schedule
	// Average is the share of the last steps of a visit whose average is proposed.
	Average float64
	// InitialSD bounds the sds of q at the very first step.
	InitialSD float64
}

// DPSVI is the private solver for any record program: a visit is a number of steps of
// doubly stochastic variational inference of the local free energy
// E_q[log likelihood] − KL(q‖cavity), q diagonal (Jälkö, Dikmen and Honkela,
// "Differentially Private Variational Inference for Non-conjugate Models", 2017).
// Each step draws one θ from q for all records and a batch, and releases the noisy sum
// of the batch's clipped gradients, through a [dpmech.SampledSum]. What does not touch
// records, as the divergence from the cavity, is added after the noise.
//
// Everything that it remembers or proposes is a function of what was released: the
// present λ, the moments of the optimiser, and a precision that is raised to that of
// the cavity where the noise brought it below.
//
// It is not safe for concurrent use.
type DPSVI struct {
	program   *Program
	mechanism *dpmech.SampledSum
	options   DPSVIOptions
	cost      accountant.Event // of one step

	run       *dpmech.SampledRun
	optimiser gpu.Lasting
	visit     *gpu.MeanField // under way

	streams dpmech.Streams
	draws   dpmech.Stream
	sink    sink
	batch   []int32
	noisy   []int64
	total   []float64
	prior   []float64
	sd      []float64
	mean    []float64
	at      *gpu.Query

	// Bound once, so that a step allocates nothing.
	query   dpmech.SampledQuery
	normals func([]float64)
}

// NewDPSVI returns the solver for the records of a program. The mechanism must have
// been made for as many records, and for vectors of one number for each coordinate of
// θ, of two if gradients are joint.
func NewDPSVI(p *Program, m *dpmech.SampledSum, o DPSVIOptions) (*DPSVI, error) {
	d := p.Dim()
	size := d
	if o.Joint {
		size = 2 * d
	}
	switch {
	case m.Dim() != size:
		return nil, fmt.Errorf("dp-svi: a mechanism for %d numbers of a record, want %d", m.Dim(), size)
	case m.Records() != p.records.Rows():
		return nil, errors.New("dp-svi: the mechanism is for another number of records") // which is private
	case o.Steps < 1 || m.Steps()%o.Steps != 0:
		return nil, fmt.Errorf("dp-svi: %d steps in all are no whole number of visits of %d", m.Steps(), o.Steps)
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
	s.noisy, s.total, s.sink.dense = make([]int64, size), make([]float64, size), make([]float64, size)
	s.prior, s.mean, s.sd = make([]float64, d), make([]float64, d), make([]float64, d)
	s.query = s.sum
	s.normals = func(dst []float64) { dpmech.FillNormal(dst, &s.draws) }
	return s, nil
}

func newOptimiser(name study.Optimiser, n int) (gpu.Lasting, error) {
	switch name {
	case study.Adam:
		return gpu.NewAdam(n, 0.9, 0.999, 1e-8)
	case study.AdaGrad:
		return gpu.NewAdaGrad(n, 1e-8)
	case study.SGD:
		return gpu.SGD{}, nil
	}
	return nil, fmt.Errorf("dp-svi: no optimiser is called %q", name)
}

// Taken returns the number of steps that were taken, and paid for.
func (s *DPSVI) Taken() int { return s.mechanism.Steps() - s.run.Remaining() }

// Propose implements [Solver]: one visit. It returns an event for each step.
func (s *DPSVI) Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	if err := s.begin(p); err != nil {
		return nil, err
	}
	dpmech.Split(s.streams.Sampling, src)
	dpmech.Split(s.streams.Noise, src)
	dpmech.Split(&s.draws, src)
	defer s.wipe()
	from := s.Taken()
	var err error
	for range s.options.Steps {
		if err = s.step(); err != nil {
			break
		}
	}
	spent := make([]accountant.Event, s.Taken()-from)
	for i := range spent {
		spent[i] = s.cost
	}
	if err != nil {
		return spent, err
	}
	return spent, s.propose(dst, p)
}

func (s *DPSVI) wipe() {
	s.streams.Wipe()
	s.draws.Wipe()
}

// begin sets out from q.
func (s *DPSVI) begin(p Problem) error {
	d := s.program.Dim()
	if p.Family.Name() != "diagonal" || p.Family.Dim() != d {
		return fmt.Errorf("dp-svi: q must be diagonal with %d coordinates, got a %s one with %d", d, p.Family.Name(), p.Family.Dim())
	}
	mean, precision := make([]float64, d), make([]float64, d)
	for i := range d {
		precision[i] = p.Cavity[d+i]
		if !(precision[i] > 0) {
			return errors.New("dp-svi: q without the client's factor is improper: with a smaller inference.damping other factors would keep it proper")
		}
		mean[i] = p.Cavity[i] / precision[i]
		s.sd[i] = 1 / math.Sqrt(p.Natural[d+i])
		if s.Taken() == 0 {
			s.sd[i] = min(s.sd[i], s.options.InitialSD)
		}
	}
	var err error
	s.visit, err = gpu.NewMeanField(p.Mean, s.sd, gpu.MeanFieldOptions{
		Draws: 1, Joint: s.options.Joint, Rate: s.options.Rate,
		Clip:       math.Inf(1), // the gate clips
		CavityMean: mean, CavityPrecision: precision,
		Optimiser: s.optimiser, Schedule: later{s.options.Schedule, s.Taken(), s.mechanism.Steps()},
		Steps: s.options.Steps, Average: s.options.Average,
	})
	return err
}

// step releases a sum and moves q by it.
func (s *DPSVI) step() error {
	if err := s.run.Next(s.noisy, &s.streams, s.query); err != nil {
		return fmt.Errorf("dp-svi: %w", err)
	}
	unit := s.mechanism.Lattice().Step()
	for i, n := range s.noisy {
		s.total[i] = unit * float64(n)
	}
	s.addPrior()
	s.visit.Update(s.total)
	return nil
}

// sum adds up the gradients of a batch.
func (s *DPSVI) sum(batch []uint32, sum *dpmech.Accumulator) error {
	s.batch = s.batch[:0]
	for _, record := range batch {
		s.batch = append(s.batch, int32(record))
	}
	s.at = s.visit.Next(s.normals, s.batch)
	s.sink.sum = sum
	return s.program.records.Each(s.at, &s.sink)
}

// addPrior adds the client's share of the gradient of what the prior is beyond its
// base to the noisy total, which is about to be divided by the rate.
func (s *DPSVI) addPrior() {
	if s.program.prior == nil {
		return
	}
	clear(s.prior)
	s.program.addPrior(s.prior, s.at.Draws[0])
	for i, g := range s.prior {
		g *= s.options.Rate
		s.total[i] += g
		if s.options.Joint {
			s.total[len(s.prior)+i] += g * s.at.Joint[0][i]
		}
	}
}

// propose writes the factor that leads from the cavity to the averaged q, with no
// precision below zero: there the records are taken to say nothing of the spread.
func (s *DPSVI) propose(dst []float64, p Problem) error {
	s.visit.Averaged(s.mean, s.sd)
	d := len(s.mean)
	for i, m := range s.mean {
		cavity := p.Cavity[d+i]
		precision := max(1/(s.sd[i]*s.sd[i])-cavity, 0)
		dst[i] = (cavity+precision)*m - p.Cavity[i]
		dst[d+i] = precision
	}
	if !finite(dst) {
		return fmt.Errorf("%w: the steps ran away; a smaller inference.step_size keeps them finite", ErrDiverged)
	}
	return nil
}

// A later schedule goes on with one that has been followed for some steps.
type later struct {
	of       gpu.Schedule
	from, to int
}

// Rate implements gpu.Schedule.
func (l later) Rate(t, _ int) float64 { return l.of.Rate(l.from+t, l.to) }

// A sink hands gradients to the gate.
type sink struct {
	sum   *dpmech.Accumulator
	dense []float64 // zero between records
}

// AddRows implements gpu.RowSink.
func (s *sink) AddRows(slopes []float64, rows []int32, x []float64) error {
	return s.sum.AddRows(slopes, rows, x)
}

// AddRecord implements gpu.Sink.
func (s *sink) AddRecord(index []int32, value []float64) error {
	if index == nil {
		return s.sum.Add(value)
	}
	for k, j := range index {
		s.dense[j] = value[k]
	}
	err := s.sum.Add(s.dense)
	for _, j := range index {
		s.dense[j] = 0
	}
	return err
}
