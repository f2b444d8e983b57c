package solver

import (
	"errors"
	"fmt"

	"fedpvi/gpu"
	"fedpvi/internal/special"
)

// A SumDescent runs one gradient descent for all clients of a study. Each round opens the noisy sum
// of all gradients, and takes one step of [DPSVI] with it. The server and all sites compute the
// same q. Steps counts the steps of the whole study, and Average is a share of these.
//
// A SumDescent stores no q between calls. Every call takes a state, a vector that encodes q and the
// progress of the descent. States depend only on the sums so far and on public random numbers. They
// may differ between machines in the last bits.
//
// A SumDescent is not safe for concurrent use.
type SumDescent struct {
	program *Program // without records, for the gradient of the prior
	options DPSVIOptions
	run     *gpu.MeanField
	total   []float64
	prior   []float64
	mean    []float64
	sd      []float64
}

// NewSumDescent returns the descent on the free energy of all records. The program must have no
// records, and a share of 1 of log(prior/base).
func NewSumDescent(p *Program, o DPSVIOptions) (*SumDescent, error) {
	d := p.Dim()
	if o.Draws != 1 {
		return nil, fmt.Errorf("descent by sums: a step takes one draw, got %d", o.Draws)
	}
	if o.Steps < 1 || !(o.InitialSD > 0) {
		return nil, fmt.Errorf("descent by sums: steps and the initial sd must be positive, got %d and %g", o.Steps, o.InitialSD)
	}
	if p.records.Rows() > 0 {
		return nil, errors.New("descent by sums: the program must have no records")
	}
	optimiser, err := newOptimiser(o.Optimiser, 2*d)
	if err != nil {
		return nil, err
	}
	s := &SumDescent{program: p, options: o, prior: make([]float64, d), mean: make([]float64, d), sd: make([]float64, d)}
	precision := make([]float64, d)
	for i, sd := range p.base.SD {
		precision[i] = 1 / (sd * sd)
		s.sd[i] = min(sd, o.InitialSD)
	}
	s.run, err = gpu.NewMeanField(p.base.Mean, s.sd, o.meanField(p.base.Mean, precision, optimiser))
	if err != nil {
		return nil, fmt.Errorf("descent by sums: %w", err)
	}
	return s, nil
}

// Size returns the number of elements of an opened sum.
func (s *SumDescent) Size() int { return s.options.size(s.program.Dim()) }

// Start returns the state before the first sum. Its q is the [Base] of the program, with sds of at
// most InitialSD.
func (s *SumDescent) Start() []float64 { return s.run.AppendState(nil) }

// Check returns an error if state is not a finite state of this descent.
func (s *SumDescent) Check(state []float64) error {
	if err := s.run.SetState(state); err != nil {
		return fmt.Errorf("descent by sums: %w", err)
	}
	if !special.Finite(state) {
		return errors.New("descent by sums: the state has a number that is not finite")
	}
	return nil
}

// Query returns the query for the records' gradients at θ = m + s∘epsilon, where m and s are the
// mean and sds of the state's q, and ∘ multiplies element by element. It is valid until the next
// call to a method of s.
func (s *SumDescent) Query(state, epsilon []float64) *gpu.Query {
	s.set(state)
	return s.run.Next(func(dst []float64) { copy(dst, epsilon) }, nil)
}

// Step returns the state after one step, in the memory of next. sum is the opened noisy sum of all
// gradients at the θ of Query(state, epsilon). It returns false if the new state is not finite.
func (s *SumDescent) Step(next, state, epsilon, sum []float64) ([]float64, bool) {
	at := s.Query(state, epsilon)
	s.total = append(s.total[:0], sum...)
	s.program.addPriorOf(at, s.total, s.prior, s.options.Rate)
	s.run.Update(s.total)
	next = s.run.AppendState(next[:0])
	return next, special.Finite(next)
}

// Natural writes the natural parameters of a state's diagonal q to dst: averaged over the last
// steps ([DPSVIOptions].Average) or after the last step.
func (s *SumDescent) Natural(dst, state []float64, averaged bool) {
	s.set(state)
	if averaged {
		s.run.Averaged(s.mean, s.sd)
	} else {
		s.run.Last(s.mean, s.sd)
	}
	d := len(s.mean)
	for i, m := range s.mean {
		dst[d+i] = 1 / (s.sd[i] * s.sd[i])
		dst[i] = dst[d+i] * m
	}
}

func (s *SumDescent) set(state []float64) {
	if err := s.run.SetState(state); err != nil {
		panic("solver: " + err.Error()) // unreachable: a state comes from Start or Step, or was checked
	}
}
