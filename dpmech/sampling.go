package dpmech

import (
	"fmt"

	"fedpvi/accountant"
)

// A Sampling is the random rule that chooses the records of each step's batch: [Poisson],
// [WithoutReplacement], [RandomAllocation], [Permutation] or [FullBatch]. Other packages cannot add
// a Sampling, so the accountant has a bound for each one.
type Sampling interface {
	// Sampler returns a sampler for the given number of records, from 0 to 2^31. If a batch has a
	// fixed size, there must be at least one record.
	Sampler(records int) (Sampler, error)
}

// A Sampler draws the batches of successive steps from the records with the indices 0, 1, ...,
// Records()−1. It is not safe for concurrent use.
//
// No sampler puts a record into a batch twice. The order within a batch is not random, and it
// depends on the sampler's state. A computation on a batch is therefore private only if its result
// does not depend on the order. Integer sums do not depend on the order.
type Sampler interface {
	// Records returns the number of records.
	Records() int

	// Steps returns the number of steps of an epoch, which is 1 if steps are independent. All
	// batches of an epoch are drawn at the start of the epoch.
	Steps() int

	// MeanBatch returns the expected size of a batch. If the number of records is public, a sum can
	// be divided by this size. Under add-remove the number of records is private, and a sum over a
	// [Poisson] batch divided by this size would reveal the number.
	MeanBatch() float64

	// MaxBatch returns the largest possible size of a batch.
	MaxBatch() int

	// Next appends the batch of the next step to dst. It draws from src only at the start
	// of an epoch. It allocates only to grow dst.
	Next(dst []uint32, src *Stream) []uint32

	// Event returns the cost, for one record, of the given number of steps, counted from the first.
	// Each step releases the sum of one vector of L2 norm at most 1 for every record of the batch,
	// with Gaussian noise of standard deviation sigma. An epoch that has begun is charged as a
	// whole.
	Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error)

	sealed()
}

func checkRecords(records, least int) error {
	if records < least || records > maxRecords {
		return fmt.Errorf("the number of records must lie in [%d, %d], got %d", least, maxRecords, records)
	}
	return nil
}

// repeated returns the event that contains e once for every epoch that has begun within the given
// number of steps. epoch is the number of steps in an epoch. repeated returns an error if the
// accountant has no bound for e.
func repeated(e accountant.Event, steps, epoch int) (accountant.Event, error) {
	if steps < 1 {
		return nil, fmt.Errorf("the number of steps must be at least 1, got %d", steps)
	}
	all := accountant.Repeated{Event: e, Times: (steps-1)/epoch + 1}
	if err := accountant.Check(all); err != nil {
		return nil, err
	}
	return all, nil
}
