package solver

import (
	"errors"
	"fmt"

	"fedpvi/gpu"
	"fedpvi/internal/special"
)

// A SumDescent runs one gradient descent for all clients of a study. Each round opens the noisy sum
// of the gradients of all clients' records, and takes one step of [DPSVI] with it. The server and
// all sites use the same sums and therefore compute the same q. The option Steps counts the steps
// of the whole study, and Average is a share of these steps.
//
// A SumDescent stores no q between calls. Instead, every call takes a state as an argument. A state
// is a vector that encodes q and the progress of the descent. It is a function of the sums so far
// and of public random numbers. If the floating-point libraries of two machines round differently,
// their states differ in the last bits.
//
// A SumDescent is not safe for concurrent use.
type SumDescent struct {
	program *Program // program without records, for the gradient of the prior
	options DPSVIOptions
	run     *gpu.MeanField
	total   []float64
	prior   []float64
	mean    []float64
	sd      []float64
}

// NewSumDescent returns the descent on the free energy of all records. The program must have no
// records, and its share of log(prior/base) must be 1.
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

// Start returns the state before the first sum. Its q is the [Base] of the program, but no sd is
// larger than the option InitialSD.
func (s *SumDescent) Start() []float64 { return s.run.AppendState(nil) }

// Check returns an error if state is not a state of this descent or has an element that is not
// finite.
func (s *SumDescent) Check(state []float64) error {
	if err := s.run.SetState(state); err != nil {
		return fmt.Errorf("descent by sums: %w", err)
	}
	if !special.Finite(state) {
		return errors.New("descent by sums: the state has a number that is not finite")
	}
	return nil
}

// Query returns the query that asks for the records' gradients at θ = m + s∘epsilon. Here m and s
// are the mean and sds of the state's q, and ∘ multiplies element by element. The query is valid
// until the next call to a method of s.
func (s *SumDescent) Query(state, epsilon []float64) *gpu.Query {
	s.set(state)
	return s.run.Next(func(dst []float64) { copy(dst, epsilon) }, nil)
}

// Step takes one step of the descent. It returns the state after the step, in the memory of next.
// sum is the opened noisy sum of all records' gradients at the θ of Query(state, epsilon). Step
// returns false if an element of the new state is not finite.
func (s *SumDescent) Step(next, state, epsilon, sum []float64) ([]float64, bool) {
	at := s.Query(state, epsilon)
	s.total = append(s.total[:0], sum...)
	s.program.addPriorOf(at, s.total, s.prior, s.options.Rate)
	s.run.Update(s.total)
	next = s.run.AppendState(next[:0])
	return next, special.Finite(next)
}

// Natural writes to dst the natural parameters of a state's diagonal q. If averaged is true, this q
// is the average over the last steps that the option Average selects. Otherwise it is the q after
// the last step.
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
