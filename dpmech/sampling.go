package dpmech

import (
	"fmt"

	"fedpvi/accountant"
)

// A Sampling says by which chance records come into the batches of successive
// steps: [Poisson], [WithoutReplacement], [RandomAllocation], [Permutation] or
// [FullBatch]. The set is closed, so that every sampling has an accountant.
type Sampling interface {
	// Sampler returns a sampler for so many records, from 0 (1 where a batch has
	// a fixed size) to 2^31.
	Sampler(records int) (Sampler, error)
}

// A Sampler draws the batches of successive steps, each for the same records,
// which it knows by their indices 0, 1, ..., Records()−1. It is not safe for
// concurrent use.
//
// No sampler puts a record into a batch twice. The order of a batch means nothing:
// it is neither random nor free of what the sampler knows, and privacy holds for
// what a batch is used for only if that does not depend on it. Integer sums do
// not.
type Sampler interface {
	// Records returns the number of records.
	Records() int

	// Steps returns the number of steps of an epoch, and 1 if steps are
	// independent. All batches of an epoch are drawn at its start.
	Steps() int

	// MeanBatch returns the expected size of a batch, by which sums are normalised
	// where the number of records is public. Under add-remove it is not, and a sum
	// of a [Poisson] batch divided by this tells it.
	MeanBatch() float64

	// MaxBatch returns the size that no batch exceeds.
	MaxBatch() int

	// Next appends the batch of the next step to dst. It draws from src at the
	// start of an epoch only. It allocates only to grow dst.
	Next(dst []uint32, src *Stream) []uint32

	// Event returns the cost of the first steps batches to a record, if the sum of
	// one vector of L2 norm at most 1 for every record of a batch is released
	// under Gaussian noise of standard deviation sigma. A sampling with an epoch
	// is charged by whole epochs.
	Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error)

	sealed()
}

func checkRecords(records, least int) error {
	if records < least || records > maxRecords {
		return fmt.Errorf("the number of records must lie in [%d, %d], got %d", least, maxRecords, records)
	}
	return nil
}

// repeated returns an event that happens once an epoch of so many steps, for as
// many epochs as steps touches, if the accountant has a bound for it.
func repeated(e accountant.Event, steps, epoch int) (accountant.Event, error) {
	if steps < 1 {
		return nil, fmt.Errorf("the number of steps must be at least 1, got %d", steps)
	}
	all := accountant.Repeated{Event: e, Times: (steps-1)/epoch + 1}
	if _, err := accountant.Account(all); err != nil {
		return nil, err
	}
	return all, nil
}
