package dpmech

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/accountant"
)

// SampledConfig configures a [SampledSum].
type SampledConfig struct {
	Sampling Sampling
	Records  int // number of records from which batches are drawn
	Steps    int // maximum number of steps of a run

	// Rows, if not nil, divides the rows of a table among the records. A record then consists of
	// all rows of one person: record i is the rows Rows[i] to Rows[i+1]−1. It enters a batch with
	// all of its rows, and contributes one vector, the sum of the vectors of its rows. If Rows is
	// nil, record i is row i.
	Rows []int32

	Dim  int     // number of elements of a record's vector, at least 1
	Clip float64 // C, the L2 bound on the contribution of one record to a step's sum

	// NoiseMultiplier is σ: the standard deviation of the noise in a sum with Shares noise shares,
	// divided by Clip.
	NoiseMultiplier float64

	// Shares and Releases have the same meaning as in [Config]. Set them if several clients compute
	// the steps together and an observer sees only the sums. If both are 0, they count as 1. A
	// release of a step then contains all of the noise, and an observer may see every release.
	Shares, Releases int

	// Terms has the same meaning as in [Config]. Set it if Releases is above 1, so that the range
	// of a release does not depend on the number of records. If Terms is 0, the range of a release
	// covers the sum of every possible batch.
	Terms int

	// PerUnit has the same meaning as in [Config], for records instead of vectors. It is above 1
	// only if several clients have records of the same person. Every step must then use all records
	// ([FullBatch]).
	PerUnit int

	Adjacency accountant.Adjacency
}

// A SampledSum releases, in every step, the sum of one vector of bounded norm for each record of a
// random batch, with discrete Gaussian noise. It consists of a [Sampling] and a [GaussianSum], and
// its cost follows from both. It is immutable. A [SampledRun] takes the steps.
//
// A record can be all rows of a person (SampledConfig.Rows). The proof is the same: the record is
// in a batch or not, independently of the rows of other persons. The vector of the record is the
// clipped sum of the vectors of its rows. This vector has norm at most Clip and depends only on
// these rows. A person with any number of rows therefore costs the same as a record of one row.
// This would not hold if the rows were sampled one by one, or if each row's vector were clipped
// separately.
//
// Guarantee: for two adjacent inputs, all releases of one run together satisfy the privacy profile
// of [SampledSum.Event], even if the vectors of a step depend on earlier releases. The caller must
// compute the vector of a record only from that record and public numbers. The caller must keep
// secret everything except the releases: the batches, their sizes, and the time that a step takes.
type SampledSum struct {
	cfg     SampledConfig
	sampler Sampler // states the batch sizes and the cost; batches are drawn from other samplers
	gate    *GaussianSum
	event   accountant.Event
}

// NewSampledSum returns the mechanism for cfg. It returns an error if a sum of the largest
// possible size could overflow, or if the accountant has no bound for the
// sampling under the adjacency.
func NewSampledSum(cfg SampledConfig) (*SampledSum, error) {
	if cfg.Sampling == nil {
		return nil, errors.New("sampled sum: no sampling: name one, such as Poisson or FullBatch")
	}
	if cfg.Shares == 0 && cfg.Releases == 0 {
		cfg.Shares, cfg.Releases = 1, 1
	}
	if err := cfg.checkRows(); err != nil {
		return nil, fmt.Errorf("sampled sum: %w", err)
	}
	sampler, err := cfg.Sampling.Sampler(cfg.Records)
	if err != nil {
		return nil, fmt.Errorf("sampled sum: %w", err)
	}
	if _, full := sampler.(fullSampler); cfg.PerUnit > 1 && !full {
		return nil, fmt.Errorf("sampled sum: no bound is known for %d records of one unit in random batches: use full batches", cfg.PerUnit)
	}
	gate, err := NewGaussianSum(Config{
		Dim:             cfg.Dim,
		Clip:            cfg.Clip,
		NoiseMultiplier: cfg.NoiseMultiplier,
		Shares:          cfg.Shares,
		Terms:           max(1, cmp.Or(cfg.Terms, sampler.MaxBatch())),
		Releases:        cfg.Releases,
		Adjacency:       cfg.Adjacency,
		PerUnit:         cfg.PerUnit,
	})
	if err != nil {
		return nil, fmt.Errorf("sampled sum: %w", err)
	}
	s := &SampledSum{cfg: cfg, sampler: sampler, gate: gate}
	if s.event, err = s.EventFor(cfg.Steps, cfg.Adjacency); err != nil {
		return nil, fmt.Errorf("sampled sum: %w", err)
	}
	return s, nil
}

// checkRows returns an error if Rows is set and does not give every record a range of consecutive
// rows, in the order of the records from row 0.
func (c *SampledConfig) checkRows() error {
	if c.Rows == nil {
		return nil
	}
	if len(c.Rows) != c.Records+1 || c.Rows[0] != 0 || !slices.IsSorted(c.Rows) {
		// Do not quote the numbers in the error, because they are private.
		return errors.New("the rows of the records must follow one another from row 0")
	}
	return nil
}

// Event returns the cost of one run with all planned steps.
func (s *SampledSum) Event() accountant.Event { return s.event }

// EventFor returns the cost of the given number of steps, counted from the first, under an
// adjacency. It assumes that SampledConfig.Shares noise shares are unknown to the observer.
func (s *SampledSum) EventFor(steps int, adjacency accountant.Adjacency) (accountant.Event, error) {
	return s.SharedEventFor(steps, s.cfg.Shares, adjacency)
}

// SharedEventFor returns the cost of the given number of steps, counted from the first, under an
// adjacency, if the observer sees only sums of releases. shares is the number of noise shares in a
// sum that the observer does not know.
//
// The accountant computes the cost of a sampling for continuous Gaussian noise N(0, σ²). The actual
// noise is a sum of n = shares samples of N_Z(0, s²), where s is the standard deviation of a noise
// share in lattice steps. By [accountant.DiscreteGaussian] its distribution for every batch differs
// from the rounded N(0, ns² − 1/12) only by a max divergence. A mixture over batches has the same
// max divergence, and rounding the mixture is the same as mixing the rounded values. The result is
// therefore a composition of two events: discrete Gaussian releases of sensitivity zero, which cost
// only the max divergence, and the event of the sampling with
//
//	σ² = (ns² − 1/12)/c²
//
// where c is the clip in lattice steps. If one unit has PerUnit records, all of them in every
// batch, c is the clip times PerUnit.
//
// The contributions of other clients, their batches, and the noise that the observer knows are
// drawn independently of the protected record's batch. Given their values, they shift the sum by a
// constant. The bound above holds for every value of the constant.
func (s *SampledSum) SharedEventFor(steps, shares int, adjacency accountant.Adjacency) (accountant.Event, error) {
	if shares < 1 {
		return nil, fmt.Errorf("sampled sum: the number of noise shares must be at least 1, got %d", shares)
	}
	sampled, err := s.sampler.Event(s.accountedNoise(shares), adjacency, steps)
	if err != nil {
		return nil, err
	}
	discreteness := accountant.DiscreteGaussian{
		Sigma:     float64(s.gate.sd),
		Shares:    shares,
		Dim:       s.cfg.Dim,
		Adjacency: adjacency,
	}
	return accountant.Composed{sampled, accountant.Repeated{Event: discreteness, Times: steps}}, nil
}

// accountedNoise returns a lower bound on the noise multiplier √(ns² − 1/12)/c that
// [SampledSum.SharedEventFor] charges. Here n is shares, s is the standard deviation of a noise
// share, and c is the clip of all records of a unit together, both in lattice steps. The bound
// follows from √(1 − x) ≥ 1 − x for x in [0, 1]. The last term covers the rounding.
func (s *SampledSum) accountedNoise(shares int) float64 {
	n, sigma := float64(shares), float64(s.gate.sd)
	return math.Sqrt(n) * sigma / (float64(s.gate.clip) * float64(max(1, s.cfg.PerUnit))) * (1 - 1/(12*n*sigma*sigma) - 0x1p-50)
}

// Lattice returns the grid of the releases.
func (s *SampledSum) Lattice() Lattice { return s.gate.Lattice() }

// ShareSigma returns the σ of one noise share of one step, in lattice steps.
func (s *SampledSum) ShareSigma() int64 { return s.gate.ShareSigma() }

// Shares returns the number of noise shares that a sum must contain for its noise to have the
// standard deviation that the noise multiplier states.
func (s *SampledSum) Shares() int { return s.cfg.Shares }

// MaxTotal returns the largest absolute value that an element of a sum of one step's releases can
// have, in lattice steps.
func (s *SampledSum) MaxTotal() int64 { return s.gate.MaxTotal() }

// Records returns the number of records from which batches are drawn.
func (s *SampledSum) Records() int { return s.cfg.Records }

// Rows returns the number of rows of all records.
func (s *SampledSum) Rows() int {
	if s.cfg.Rows == nil {
		return s.cfg.Records
	}
	return int(s.cfg.Rows[s.cfg.Records])
}

// MeanBatch returns the expected size of a batch. Divide a sum by the expected size only
// if the number of records is public (see [Sampler]).
func (s *SampledSum) MeanBatch() float64 { return s.sampler.MeanBatch() }

// MaxBatch returns the largest possible size of a batch.
func (s *SampledSum) MaxBatch() int { return s.sampler.MaxBatch() }

// Dim returns the number of elements of a vector.
func (s *SampledSum) Dim() int { return s.cfg.Dim }

// Clip returns C, the bound on the L2 norm of a vector.
func (s *SampledSum) Clip() float64 { return s.cfg.Clip }

// NoiseMultiplier returns the noise multiplier σ of the configuration.
func (s *SampledSum) NoiseMultiplier() float64 { return s.cfg.NoiseMultiplier }

// Adjacency returns the adjacency of [SampledSum.Event].
func (s *SampledSum) Adjacency() accountant.Adjacency { return s.cfg.Adjacency }

// Epoch returns the number of steps in an epoch, which is 1 if steps are independent. The batches
// of an epoch are drawn together, and its steps are charged together.
func (s *SampledSum) Epoch() int { return s.sampler.Steps() }

// Steps returns the maximum number of steps of a run.
func (s *SampledSum) Steps() int { return s.cfg.Steps }

// Begin starts a run. Every run costs [SampledSum.Event].
func (s *SampledSum) Begin() *SampledRun {
	sampler, err := s.cfg.Sampling.Sampler(s.cfg.Records)
	if err != nil {
		panic("dpmech: " + err.Error()) // unreachable, because NewSampledSum has made the same sampler
	}
	return &SampledRun{
		of:      s,
		sampler: sampler,
		batch:   make([]uint32, 0, sampler.MaxBatch()),
		vectors: s.gate.NewAccumulator(),
		sum:     make([]int64, s.cfg.Dim),
	}
}

// Resume continues a run after a restart of the program. taken is the number of steps that were
// taken and charged before the restart. Resume returns an error if the run stopped within an epoch,
// because the batches of an unfinished epoch are lost.
func (s *SampledSum) Resume(taken int) (*SampledRun, error) {
	if taken < 0 || taken > s.cfg.Steps {
		return nil, fmt.Errorf("sampled sum: the number of steps taken must lie in [0, %[2]d], got %[1]d", taken, s.cfg.Steps)
	}
	if epoch := s.sampler.Steps(); taken%epoch != 0 {
		return nil, fmt.Errorf("sampled sum: cannot continue after %d steps, in the middle of an epoch of %d", taken, epoch)
	}
	run := s.Begin()
	run.taken = taken
	return run, nil
}

// A SampledRun computes the steps of a [SampledSum], one after the other. It is not safe for
// concurrent use.
type SampledRun struct {
	of      *SampledSum
	sampler Sampler
	taken   int // number of steps so far

	batch   []uint32 // batch of the current step
	rows    []uint32 // rows of one record of the batch; unused if a record is one row
	vectors *Accumulator
	sum     []int64 // sum without noise, which must not be released
}

// Remaining returns the number of planned steps that are left.
func (r *SampledRun) Remaining() int { return r.of.cfg.Steps - r.taken }

// ErrNoSteps is returned for a step or a plan beyond the planned steps of a run. The cost of a run
// covers only these steps.
var ErrNoSteps = errors.New("all planned and accounted steps were taken")

// A SampledQuery adds the vector of every row of batch to sum, at most one vector for each row. It
// must not keep its arguments. If the mechanism has Rows, each call is for one record of the batch,
// and batch contains the rows of this record.
type SampledQuery func(batch []uint32, sum *Accumulator) error

// Next computes one step. It draws the batch and the noise, calls query, and writes the noisy sum
// of the vectors to dst, in lattice steps. A vector that is not finite adds zero. Next releases a
// sum for every batch, even for an empty batch. Next allocates nothing.
//
// Next returns an error if a vector has the wrong length, if there are more vectors than records,
// or if query returns an error. dst is then zero, nothing about the records is released, and the
// step is used up. If query panics, the noise alone is released.
func (r *SampledRun) Next(dst []int64, streams *Streams, query SampledQuery) error {
	if r.taken >= r.of.cfg.Steps {
		return fmt.Errorf("sampled sum: %w (%d): plan more steps from the start", ErrNoSteps, r.of.cfg.Steps)
	}
	if err := checkDestination(r.of.cfg.Dim, dst, r.sum); err != nil {
		return fmt.Errorf("sampled sum: %w", err)
	}
	r.taken++
	r.batch = r.sampler.Next(r.batch[:0], streams.Sampling)
	r.of.gate.draw(dst, streams.Noise)
	return r.gather(dst, query)
}

// gather replaces the noise in dst with the noisy sum of the batch. It computes the sum of the
// vectors that query adds for the batch, saturates it, and adds it to dst.
func (r *SampledRun) gather(dst []int64, query SampledQuery) error {
	err := r.vectors.gather(len(r.batch), func() error {
		if r.of.cfg.Rows == nil {
			return query(r.batch, r.vectors)
		}
		return r.addPersons(query)
	})
	copy(r.sum, r.vectors.sum)
	r.of.gate.saturate(r.sum)
	return finish(dst, r.sum, err)
}

// addPersons adds one vector for each person of the batch: the sum of the vectors of the person's
// rows, clipped as a whole.
func (r *SampledRun) addPersons(query SampledQuery) error {
	for _, record := range r.batch {
		from, to := r.of.cfg.Rows[record], r.of.cfg.Rows[record+1]
		r.rows = r.rows[:0]
		for row := from; row < to; row++ {
			r.rows = append(r.rows, uint32(row))
		}
		if err := r.vectors.addTogether(func() error { return query(r.rows, r.vectors) }); err != nil {
			return err
		}
	}
	return nil
}
