package ep

import (
	"errors"
	"fmt"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/internal/special"
	"fedpvi/pvi/solver"
)

// DPSEP is private stochastic expectation propagation. It follows Vinaroz and Park, "Differentially
// Private Stochastic Expectation Propagation", 2022. The privacy proof of that paper's algorithm is
// not valid, and DPSEP differs from the algorithm so that its own proof is valid. One call to
// Propose takes a fixed number of steps. Each step computes the sites of a random batch of records
// and releases the noisy sum of the clipped sites through a [dpmech.SampledSum]. The client's
// factor is an average of those sums (see [SEPOptions]).
//
// All numbers that DPSEP keeps or proposes are functions of released sums. If a noisy sum leads to
// an improper factor, DPSEP repairs the factor after the noise was added. Such a step costs as much
// privacy as every other step.
//
// DPSEP is not safe for concurrent use.
type DPSEP struct {
	mechanism *dpmech.SampledSum
	options   SEPOptions
	steps     int                 // number of steps in a call to Propose
	cost      accountant.Event    // privacy cost of one epoch; an epoch is the smallest number of steps whose batches are drawn together
	free      accountant.Composed // event without cost, for the second and later steps of an epoch
	epoch     int

	factor  *tied
	run     *dpmech.SampledRun
	streams dpmech.Streams

	outer []float64 // natural parameters of the prior times the other clients' factors
	noisy []int64
	total []float64
	sites []float64           // buffer for the sites of several records that are computed together
	query dpmech.SampledQuery // the method value s.sum, which is stored so that a step allocates no memory
}

// NewDPSEP returns a solver for the records of t. Each call to Propose takes the given number of
// steps, which must be a multiple of m.Epoch() and divide m.Steps(). The mechanism m must be for
// t.Records() records and for vectors of t.Size() numbers.
func NewDPSEP(t Tilted, m *dpmech.SampledSum, o SEPOptions, steps int) (*DPSEP, error) {
	switch err := o.check(t.Family().Dim()); {
	case err != nil:
		return nil, err
	case m.Dim() != t.Size():
		return nil, fmt.Errorf("dp-sep: the mechanism is for vectors of %d numbers, want %d", m.Dim(), t.Size())
	case m.Rows() != t.Records():
		// The error does not name the number of records, which is private.
		return nil, errors.New("dp-sep: the mechanism is for another number of records")
	case steps < 1 || m.Steps()%steps != 0:
		return nil, fmt.Errorf("dp-sep: %d steps in all are not a whole number of visits of %d steps", m.Steps(), steps)
	case steps%m.Epoch() != 0:
		return nil, fmt.Errorf("dp-sep: a visit of %d steps is not a whole number of epochs of %d steps", steps, m.Epoch())
	}
	cost, err := m.EventFor(1, m.Adjacency())
	if err != nil {
		return nil, err
	}
	s := &DPSEP{mechanism: m, options: o, steps: steps, cost: cost, epoch: m.Epoch(), run: m.Begin()}
	s.factor = newTied(t, &s.options)
	s.streams = dpmech.Streams{Sampling: new(dpmech.Stream), Noise: new(dpmech.Stream)}
	s.outer = make([]float64, t.Family().Size())
	s.noisy, s.total, s.sites = make([]int64, t.Size()), make([]float64, t.Size()), make([]float64, together*t.Size())
	s.query = s.sum
	return s, nil
}

// Releases returns the number of noisy sums that were released and charged. Each step releases one
// sum.
func (s *DPSEP) Releases() int { return s.mechanism.Steps() - s.run.Remaining() }

// Propose implements [solver.Solver]. It takes the solver's number of steps and returns an event
// for each release. If the sampling draws the batches of a whole epoch at once, the event of the
// epoch's first release has the cost of the whole epoch, and the other events cost nothing.
func (s *DPSEP) Propose(dst []float64, p solver.Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	if err := s.check(p); err != nil {
		return nil, err
	}
	copy(s.outer, p.Cavity)
	dpmech.Split(s.streams.Sampling, src)
	dpmech.Split(s.streams.Noise, src)
	defer s.streams.Wipe()
	from := s.Releases()
	var err error
	for range s.steps {
		if err = s.step(); err != nil {
			break
		}
	}
	var spent []accountant.Event
	for t := from; t < s.Releases(); t++ {
		if t%s.epoch == 0 {
			spent = append(spent, s.cost)
		} else {
			spent = append(spent, s.free)
		}
	}
	if err != nil {
		return spent, err
	}
	if err := s.factor.propose(dst); err != nil || !special.Finite(dst) {
		return spent, fmt.Errorf("%w: the factor overflows; a smaller inference.step_size keeps it finite", solver.ErrDiverged)
	}
	return spent, nil
}

// check returns an error if Propose cannot solve the problem. The Gaussian family of p must be the
// family of the solver, and the cavity of p must be proper. Propose calls check before it releases
// anything.
func (s *DPSEP) check(p solver.Problem) error {
	family := s.factor.tilted.Family()
	if p.Family.Name() != family.Name() || p.Family.Dim() != family.Dim() {
		return fmt.Errorf("dp-sep: q must be %s with %d coordinates, got a %s one with %d", family.Name(), family.Dim(), p.Family.Name(), p.Family.Dim())
	}
	if p.Family.Check(p.Cavity) != nil {
		return errors.New("dp-sep: q without the client's factor is improper; a smaller inference.damping keeps it proper")
	}
	return nil
}

// step takes one step: it releases one noisy sum of sites and updates the factor with this sum.
// Before the release, it checks that the cavity is proper. The check uses only numbers that were
// released before, so an error reveals nothing new about the records.
func (s *DPSEP) step() error {
	if err := s.factor.prepare(s.outer); err != nil {
		return fmt.Errorf("%w: %w", solver.ErrDiverged, err)
	}
	if err := s.run.Next(s.noisy, &s.streams, s.query); err != nil {
		return fmt.Errorf("dp-sep: %w", err)
	}
	unit := s.mechanism.Lattice().Step()
	for i, n := range s.noisy {
		s.total[i] = unit * float64(n)
	}
	s.factor.move(s.total)
	return nil
}

func (s *DPSEP) sum(batch []uint32, sum *dpmech.Accumulator) error {
	size := s.factor.tilted.Size()
	for some := range slices.Chunk(batch, together) {
		err := guard.Batch(some,
			func(some []uint32) { s.factor.sites(s.sites[:len(some)*size], some) },
			func(some []uint32) error { return sum.AddVectors(s.sites[:len(some)*size]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Released returns the last noisy sum, in units of the mechanism's lattice step. The sum may be
// published: the privacy guarantee covers it. The slice is not a copy.
func (s *DPSEP) Released() []int64 { return s.noisy }
