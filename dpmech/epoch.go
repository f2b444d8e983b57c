package dpmech

import (
	"errors"
	"fmt"

	"fedpvi/accountant"
)

// RandomAllocation puts each record into Picks of an epoch's Steps batches. All sets of Picks
// batches have the same probability, and the sets for different records and epochs are independent.
// [accountant.RandomAllocation] gives the cost. If a client stops within an epoch, it is charged
// for the whole epoch.
type RandomAllocation struct {
	Steps int // number of steps in an epoch
	Picks int // in how many batches of an epoch a record is, from 1 to Steps
}

// maxAssignments limits the memory for an epoch. Each assignment of a record to a step takes eight
// bytes.
const maxAssignments = 1 << 32

// Sampler implements [Sampling].
func (r RandomAllocation) Sampler(records int) (Sampler, error) {
	err := checkRecords(records, 0)
	switch {
	case r.Picks < 1 || r.Steps < r.Picks || r.Steps > maxRecords:
		err = errors.Join(err, fmt.Errorf("want 1 ≤ picks ≤ steps ≤ %d, got %d picks of %d steps", maxRecords, r.Picks, r.Steps))
	case err == nil && records > maxAssignments/r.Picks:
		err = fmt.Errorf("%d picks of %d records take too much memory: at most %d in all are supported", r.Picks, records, maxAssignments)
	}
	if err != nil {
		return nil, fmt.Errorf("random allocation: %w", err)
	}
	steps, err := newSelector(r.Steps, Exact)
	if err != nil {
		return nil, fmt.Errorf("random allocation: %w", err)
	}
	return &allocationSampler{
		epoch:   newEpoch(records, r.Steps, records*r.Picks),
		picks:   r.Picks,
		steps:   steps,
		choices: make([]uint32, 0, records*r.Picks),
	}, nil
}

type allocationSampler struct {
	epoch
	picks   int
	steps   *selector
	choices []uint32 // steps of the batches that record 0 is in, then those of record 1, and so on
}

func (s *allocationSampler) MaxBatch() int { return s.records }
func (s *allocationSampler) sealed()       {}

func (s *allocationSampler) Next(dst []uint32, src *Stream) []uint32 {
	if s.begins() {
		s.draw(src)
	}
	return s.next(dst)
}

// draw draws the batches of an epoch. It first draws the steps of each record, and then sorts the
// records by step.
func (s *allocationSampler) draw(src *Stream) {
	s.choices = s.choices[:0]
	for range s.records {
		s.choices = s.steps.choose(s.choices, s.picks, src)
	}
	clear(s.ends)
	for _, step := range s.choices {
		s.ends[step+1]++
	}
	for i := range s.Steps() {
		s.ends[i+1] += s.ends[i]
	}
	// Before the loop, ends[i] is where batch i begins. The loop increases it to where the batch
	// ends.
	for i, step := range s.choices {
		s.order[s.ends[step]] = uint32(i / s.picks)
		s.ends[step]++
	}
}

func (s *allocationSampler) Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error) {
	return repeated(accountant.RandomAllocation{Steps: s.Steps(), Picks: s.picks, Sigma: sigma, Adjacency: adjacency}, steps, s.Steps())
}

// Permutation shuffles the records at the start of each epoch and divides them into batches. All
// orders have the same probability. If the number of records is not a multiple of Batches, the
// first batches have one record more. [accountant.Permutation] gives the cost. The random order
// does not lower this bound. Under add-remove there is no bound.
type Permutation struct {
	Batches int // number of batches, from 1 to the number of records
}

// Sampler implements [Sampling].
func (p Permutation) Sampler(records int) (Sampler, error) {
	err := checkRecords(records, 1)
	if err == nil && (p.Batches < 1 || p.Batches > records) {
		err = fmt.Errorf("the number of batches must lie in [1, %d], the number of records, got %d", records, p.Batches)
	}
	if err != nil {
		return nil, fmt.Errorf("permutation: %w", err)
	}
	s := &permutationSampler{newEpoch(records, p.Batches, records)}
	size, larger := records/p.Batches, records%p.Batches
	for i := range p.Batches {
		s.ends[i] = (i+1)*size + min(i+1, larger)
	}
	return s, nil
}

type permutationSampler struct{ epoch }

func (s *permutationSampler) MaxBatch() int { return s.ends[0] }
func (s *permutationSampler) sealed()       {}

func (s *permutationSampler) Next(dst []uint32, src *Stream) []uint32 {
	if s.begins() {
		s.shuffle(src)
	}
	return s.next(dst)
}

// shuffle puts the records into random order (Fisher-Yates). In each epoch, it starts from the same
// order, so that the result depends only on the random stream.
func (s *permutationSampler) shuffle(src *Stream) {
	for i := range s.order {
		j := src.Uint64n(uint64(i) + 1)
		s.order[i] = s.order[j]
		s.order[j] = uint32(i)
	}
}

func (s *permutationSampler) Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error) {
	return repeated(accountant.Permutation{Sigma: sigma, Adjacency: adjacency}, steps, s.Steps())
}

// An epoch has the batches of several steps, which are drawn together.
type epoch struct {
	records int
	step    int      // number of the next step in the epoch, from 0
	order   []uint32 // records of the epoch, sorted by batch
	ends    []int    // where each batch ends in order
}

func newEpoch(records, steps, size int) epoch {
	return epoch{records: records, order: make([]uint32, size), ends: make([]int, steps+1)}
}

func (e *epoch) Records() int { return e.records }

func (e *epoch) MeanBatch() float64 { return float64(len(e.order)) / float64(e.Steps()) }
func (e *epoch) Steps() int         { return len(e.ends) - 1 }

func (e *epoch) begins() bool { return e.step == 0 }

// next appends the batch of the next step to dst.
func (e *epoch) next(dst []uint32) []uint32 {
	from := 0
	if e.step > 0 {
		from = e.ends[e.step-1]
	}
	batch := e.order[from:e.ends[e.step]]
	e.step = (e.step + 1) % e.Steps()
	return append(dst, batch...)
}
