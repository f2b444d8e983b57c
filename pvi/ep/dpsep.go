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

// DPSEP is private stochastic expectation propagation, after Vinaroz and Park, "Differentially
// Private Stochastic Expectation Propagation", 2022. The privacy proof of that paper does not hold,
// and DPSEP differs from its algorithm where its own proof needs it. Each step computes the sites
// of a random batch of records and releases the noisy sum of the clipped sites through a
// [dpmech.SampledSum]. The client's factor is an average of those sums (see [SEPOptions]).
//
// All that DPSEP keeps or proposes is a function of released sums. If noise makes the factor
// improper, DPSEP repairs it. Such a step costs as much as any other.
//
// DPSEP is not safe for concurrent use.
type DPSEP struct {
	mechanism *dpmech.SampledSum
	options   SEPOptions
	steps     int                 // number of steps in a call to Propose
	cost      accountant.Event    // privacy cost of one epoch, the steps whose batches are drawn together
	free      accountant.Composed // event without cost, for later steps of an epoch
	epoch     int

	factor  *tied
	run     *dpmech.SampledRun
	streams dpmech.Streams

	outer []float64 // natural parameters of the prior times the other clients' factors
	noisy []int64
	total []float64
	sites []float64           // sites of records that are computed together
	query dpmech.SampledQuery // s.sum, stored to avoid allocations
}

// NewDPSEP returns a solver for the records of t. Each call to Propose takes the given number of
// steps, a multiple of m.Epoch() that divides m.Steps(). m must be for t.Records() records and for
// vectors of t.Size() numbers.
func NewDPSEP(t Tilted, m *dpmech.SampledSum, o SEPOptions, steps int) (*DPSEP, error) {
	switch err := o.check(t.Family().Dim()); {
	case err != nil:
		return nil, err
	case m.Dim() != t.Size():
		return nil, fmt.Errorf("dp-sep: the mechanism is for vectors of %d numbers, want %d", m.Dim(), t.Size())
	case m.Rows() != t.Records():
		// The number of records is private, so the error does not name it.
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

// Releases returns the number of noisy sums that were released and charged, one for each step.
func (s *DPSEP) Releases() int { return s.mechanism.Steps() - s.run.Remaining() }

// Propose implements [solver.Solver]. It returns an event for each release. If the batches of a
// whole epoch are drawn at once, the first event of the epoch has its whole cost, and the others
// cost nothing.
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

// check returns an error if Propose cannot solve the problem. The families must agree, and the
// cavity must be proper. It is called before any release.
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

// step releases one noisy sum of sites and updates the factor with it. It first checks that the
// cavity is proper. An error reveals nothing new, because the cavity depends only on earlier
// releases.
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

// Released returns the last noisy sum, in lattice steps. It may be published. The slice is not a
// copy.
func (s *DPSEP) Released() []int64 { return s.noisy }
