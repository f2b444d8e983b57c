package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
)

// Poisson puts every record into every batch with probability Rate, independently of all other
// records and batches. It draws the size of a batch from Binomial(records, Rate), up to a
// statistical distance of 2^-200, and then draws that many records without replacement.
// [accountant.Poisson] states the cost.
//
// The size of a batch is private under add-remove, and so are the time and the memory that a step
// takes. Divide sums by a public number and never by the size of the batch. Under add-remove the
// number of records is private too, so Rate·records is not public. Use Rate times a fixed public
// number instead.
type Poisson struct {
	Rate      float64 // sampling probability q, in [0, 1]
	Selection Selection
}

// Sampler implements [Sampling]. It makes a table of the possible batch sizes. For n records and q
// = Rate, the table has about 40·√(n·q·(1−q)) entries.
func (p Poisson) Sampler(records int) (Sampler, error) {
	err := checkRecords(records, 0)
	if !(p.Rate >= 0 && p.Rate <= 1) {
		err = errors.Join(err, fmt.Errorf("the sampling rate must lie in [0, 1], got %g", p.Rate))
	}
	if err != nil {
		return nil, fmt.Errorf("poisson sampling: %w", err)
	}
	s, err := newSelector(records, p.Selection)
	if err != nil {
		return nil, fmt.Errorf("poisson sampling: %w", err)
	}
	return &poissonSampler{s, p.Rate, binomialOf(records, p.Rate)}, nil
}

type poissonSampler struct {
	*selector
	rate float64
	size *binomial
}

func (s *poissonSampler) Steps() int         { return 1 }
func (s *poissonSampler) MeanBatch() float64 { return s.rate * float64(s.n) }
func (s *poissonSampler) MaxBatch() int      { return s.size.most() }
func (s *poissonSampler) sealed()            {}

func (s *poissonSampler) Next(dst []uint32, src *Stream) []uint32 {
	return s.choose(dst, s.size.sample(src), src)
}

func (s *poissonSampler) Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error) {
	return repeated(accountant.Poisson{Rate: s.rate, Sigma: sigma, Adjacency: adjacency}, steps, 1)
}

// WithoutReplacement puts a fixed number of records into each batch. All sets of that size have the
// same probability, independently of other steps. [accountant.WithoutReplacement] gives the cost.
// If a record is removed from the input, another takes its place in the batch. A release therefore
// costs up to twice as much as with [Poisson], even under add-remove. The batch size is public,
// even under add-remove.
type WithoutReplacement struct {
	Batch     int // size of a batch, from 0 to the number of records
	Selection Selection
}

// Sampler implements [Sampling].
func (w WithoutReplacement) Sampler(records int) (Sampler, error) {
	err := checkRecords(records, 1)
	if err == nil && (w.Batch < 0 || w.Batch > records) {
		err = fmt.Errorf("the size of a batch must lie in [0, %d], the number of records, got %d", records, w.Batch)
	}
	if err != nil {
		return nil, fmt.Errorf("sampling without replacement: %w", err)
	}
	s, err := newSelector(records, w.Selection)
	if err != nil {
		return nil, fmt.Errorf("sampling without replacement: %w", err)
	}
	return &fixedSampler{s, w.Batch}, nil
}

type fixedSampler struct {
	*selector
	batch int
}

func (s *fixedSampler) Steps() int         { return 1 }
func (s *fixedSampler) MeanBatch() float64 { return float64(s.batch) }
func (s *fixedSampler) MaxBatch() int      { return s.batch }
func (s *fixedSampler) sealed()            {}

func (s *fixedSampler) Next(dst []uint32, src *Stream) []uint32 {
	return s.choose(dst, s.batch, src)
}

// Event uses the sampling rate for this sampler's number of records. If an adjacent input has one
// record more, its rate is smaller and costs less.
func (s *fixedSampler) Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error) {
	return repeated(accountant.WithoutReplacement{Rate: rateOf(s.batch, s.n), Sigma: sigma, Adjacency: adjacency}, steps, 1)
}

// FullBatch puts all records into each batch. A step costs as much as an [accountant.Gaussian]
// release.
type FullBatch struct{}

// Sampler implements [Sampling].
func (FullBatch) Sampler(records int) (Sampler, error) {
	if err := checkRecords(records, 0); err != nil {
		return nil, fmt.Errorf("full batch: %w", err)
	}
	return fullSampler(records), nil
}

type fullSampler int

func (s fullSampler) Records() int       { return int(s) }
func (s fullSampler) Steps() int         { return 1 }
func (s fullSampler) MeanBatch() float64 { return float64(s) }
func (s fullSampler) MaxBatch() int      { return int(s) }
func (s fullSampler) sealed()            {}

func (s fullSampler) Next(dst []uint32, _ *Stream) []uint32 {
	from := len(dst)
	dst = grow(dst, int(s))
	for i := range dst[from:] {
		dst[from+i] = uint32(i)
	}
	return dst
}

func (s fullSampler) Event(sigma float64, adjacency accountant.Adjacency, steps int) (accountant.Event, error) {
	return repeated(accountant.Gaussian{Sensitivity: adjacency.Factor(), Sigma: sigma, Adjacency: adjacency}, steps, 1)
}

// rateOf returns batch/records, rounded up.
func rateOf(batch, records int) float64 {
	b, n := float64(batch), float64(records)
	rate := b / n
	if math.FMA(rate, n, -b) < 0 {
		rate = math.Nextafter(rate, 1)
	}
	return rate
}
