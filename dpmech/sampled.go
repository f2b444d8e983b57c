package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
)

// SampledConfig says what a [SampledSum] has to guarantee.
type SampledConfig struct {
	Sampling Sampling
	Records  int // number of records that it samples from
	Steps    int // most steps that will be taken

	Dim  int     // number of elements of a record's vector, at least 1
	Clip float64 // C: the L2 bound on what one record adds to a step's sum

	// NoiseMultiplier is σ: the standard deviation of the noise that hides one
	// vector, divided by Clip, when Shares shares of it are in the sum.
	NoiseMultiplier float64

	// Shares and Releases are those of [Config], of steps that several clients take
	// together and of which the sum alone is opened. Both are 1 if they are 0: a step
	// carries all of its noise and is read as it is.
	Shares, Releases int

	Adjacency accountant.Adjacency
}

// A SampledSum releases, in every step, the sum of one vector of bounded influence
// for each record of a random batch, under discrete Gaussian noise: a [Sampling]
// and a [GaussianSum] that are accounted as one. It does not change; what is
// released is released by a [SampledRun].
//
// Guarantee: for two inputs that are adjacent, whatever the steps of one run release
// together satisfies the privacy profile of [SampledSum.Event], also if each
// step's vectors are chosen in the knowledge of what earlier steps released. It
// rests on a caller who makes the vector of a record from that record and public
// numbers alone, and lets nothing out of the house but the releases: not the
// batches, their sizes, or the time that a step takes.
type SampledSum struct {
	cfg     SampledConfig
	sampler Sampler // for its sizes and its cost; no batch is drawn from it
	gate    *GaussianSum
	event   accountant.Event
}

// NewSampledSum derives sampler, lattice and noise. It refuses a Config for which a
// batch of the largest possible size could overflow, or whose sampling has no
// accountant under its adjacency.
func NewSampledSum(cfg SampledConfig) (*SampledSum, error) {
	if cfg.Sampling == nil {
		return nil, errors.New("sampled sum: no sampling: name one, such as Poisson or FullBatch")
	}
	if cfg.Shares == 0 && cfg.Releases == 0 {
		cfg.Shares, cfg.Releases = 1, 1
	}
	sampler, err := cfg.Sampling.Sampler(cfg.Records)
	if err != nil {
		return nil, fmt.Errorf("sampled sum: %w", err)
	}
	gate, err := NewGaussianSum(Config{
		Dim:             cfg.Dim,
		Clip:            cfg.Clip,
		NoiseMultiplier: cfg.NoiseMultiplier,
		Shares:          cfg.Shares,
		Terms:           max(1, sampler.MaxBatch()),
		Releases:        cfg.Releases,
		Adjacency:       cfg.Adjacency,
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

// Event returns the cost of one run, that is of all steps that are planned.
func (s *SampledSum) Event() accountant.Event { return s.event }

// EventFor returns the cost of the first steps steps under an adjacency, against an
// observer to whom Config.Shares noise shares are unknown.
func (s *SampledSum) EventFor(steps int, adjacency accountant.Adjacency) (accountant.Event, error) {
	return s.SharedEventFor(steps, s.cfg.Shares, adjacency)
}

// SharedEventFor returns the cost of the first steps steps under an adjacency,
// against an observer who sees sums of releases in which shares noise shares are
// unknown to him.
//
// A sampling is accounted with continuous Gaussian noise N(0, σ²). What is added is
// n samples of N_Z(0, s²), which [accountant.DiscreteGaussian] shows to be
// N(0, ns² − 1/12), rounded, up to a max divergence, for every batch; mixing over
// batches keeps a max divergence and commutes with rounding. The event is therefore
// that of the sampling with σ² = (ns² − 1/12)/c², c the clip in lattice steps, and
// next to it releases of sensitivity zero that cost that max divergence and nothing
// else.
//
// What other clients add, their batches and the noise that the observer knows are
// drawn independently of the protected record's batch. Given all of them they move
// the sum by a constant, for every value of which the bound above is the same.
func (s *SampledSum) SharedEventFor(steps, shares int, adjacency accountant.Adjacency) (accountant.Event, error) {
	if shares < 1 {
		return nil, fmt.Errorf("sampled sum: %d noise shares hide nothing", shares)
	}
	sampled, err := s.sampler.Event(s.accountedNoise(shares), adjacency, steps)
	if err != nil {
		return nil, err
	}
	discreteness := accountant.DiscreteGaussian{
		Sigma:     float64(s.gate.sigma),
		Shares:    shares,
		Dim:       s.cfg.Dim,
		Adjacency: adjacency,
	}
	return accountant.Composed{sampled, accountant.Repeated{Event: discreteness, Times: steps}}, nil
}

// accountedNoise returns √(ns² − 1/12)/c for n shares, from below: √(1 − x) is at
// least 1 − x, and the last term covers the rounding.
func (s *SampledSum) accountedNoise(shares int) float64 {
	n, sigma := float64(shares), float64(s.gate.sigma)
	return math.Sqrt(n) * sigma / float64(s.gate.clip) * (1 - 1/(12*n*sigma*sigma) - 0x1p-50)
}

// Lattice returns the grid on which releases are written.
func (s *SampledSum) Lattice() Lattice { return s.gate.Lattice() }

// ShareSigma returns σ of one noise share of one step in lattice steps.
func (s *SampledSum) ShareSigma() int64 { return s.gate.ShareSigma() }

// Shares returns the number of noise shares that together reach the noise
// multiplier.
func (s *SampledSum) Shares() int { return s.cfg.Shares }

// MaxTotal returns a bound on the absolute value, in lattice steps, of any element of
// a sum of releases of one step.
func (s *SampledSum) MaxTotal() int64 { return s.gate.MaxTotal() }

// Records returns the number of records that it samples from.
func (s *SampledSum) Records() int { return s.cfg.Records }

// MeanBatch returns the expected size of a batch, to normalise a sum by where the
// number of records is public: see [Sampler].
func (s *SampledSum) MeanBatch() float64 { return s.sampler.MeanBatch() }

// MaxBatch returns the size that no batch exceeds.
func (s *SampledSum) MaxBatch() int { return s.sampler.MaxBatch() }

// Dim returns the number of elements of a vector.
func (s *SampledSum) Dim() int { return s.cfg.Dim }

// Clip returns C.
func (s *SampledSum) Clip() float64 { return s.cfg.Clip }

// NoiseMultiplier returns σ as it was asked for.
func (s *SampledSum) NoiseMultiplier() float64 { return s.cfg.NoiseMultiplier }

// Adjacency returns the adjacency that [SampledSum.Event] is about.
func (s *SampledSum) Adjacency() accountant.Adjacency { return s.cfg.Adjacency }

// Epoch returns the number of steps whose batches are drawn, and charged, together: 1 if
// steps are independent.
func (s *SampledSum) Epoch() int { return s.sampler.Steps() }

// Steps returns the most steps that a run takes.
func (s *SampledSum) Steps() int { return s.cfg.Steps }

// Begin starts a run. Every run costs [SampledSum.Event].
func (s *SampledSum) Begin() *SampledRun {
	sampler, err := s.cfg.Sampling.Sampler(s.cfg.Records)
	if err != nil {
		panic("dpmech: " + err.Error()) // unreachable: NewSampledSum made one of the same
	}
	return &SampledRun{
		of:      s,
		sampler: sampler,
		batch:   make([]uint32, 0, sampler.MaxBatch()),
		vectors: s.gate.NewAccumulator(),
		sum:     make([]int64, s.cfg.Dim),
	}
}

// Resume goes on with a run of which so many steps were taken, and paid for, before
// the program stopped. A sampling with an epoch can go on only between two of them:
// which batches were left of it is forgotten.
func (s *SampledSum) Resume(taken int) (*SampledRun, error) {
	if taken < 0 || taken > s.cfg.Steps {
		return nil, fmt.Errorf("sampled sum: %d steps taken are none of the %d that were planned", taken, s.cfg.Steps)
	}
	if epoch := s.sampler.Steps(); taken%epoch != 0 {
		return nil, fmt.Errorf("sampled sum: cannot go on after %d steps, in the middle of an epoch of %d", taken, epoch)
	}
	run := s.Begin()
	run.taken = taken
	return run, nil
}

// A SampledRun takes the steps of a [SampledSum], one after the other. It is not
// safe for concurrent use.
type SampledRun struct {
	of      *SampledSum
	sampler Sampler
	taken   int // steps

	batch   []uint32 // of the step under way
	vectors *Accumulator
	sum     []int64 // without noise; stays here
}

// Remaining returns how many of the planned steps are left.
func (r *SampledRun) Remaining() int { return r.of.cfg.Steps - r.taken }

// ErrNoSteps is returned by [SampledRun.Next] when all steps that were planned, and
// accounted, were taken.
var ErrNoSteps = errors.New("no step is left of those that were planned and accounted")

// A SampledQuery adds to sum the vector of every record of batch, at most one for
// each. It must keep neither.
type SampledQuery func(batch []uint32, sum *Accumulator) error

// Next takes one step: it draws the batch and the noise, then calls query, and
// writes to dst the noisy sum of the vectors in steps of the lattice. A vector that
// is not finite adds zero. No batch is too small to be released, an empty one
// neither. It allocates nothing.
//
// A vector of the wrong length, more vectors than records, and an error of query
// fail the step: dst is then zero, nothing was revealed, and the step is used up.
func (r *SampledRun) Next(dst []int64, streams *Streams, query SampledQuery) error {
	if r.taken >= r.of.cfg.Steps {
		return fmt.Errorf("sampled sum: %w (%d): plan more steps from the start", ErrNoSteps, r.of.cfg.Steps)
	}
	if err := checkDestination(r.of.cfg.Dim, dst, r.sum); err != nil {
		return fmt.Errorf("sampled sum: %w", err)
	}
	r.taken++
	r.batch = r.sampler.Next(r.batch[:0], streams.Sampling)
	r.of.gate.noise.Fill(dst, streams.Noise)
	return r.gather(dst, query)
}

// gather adds the sum of the vectors of the batch to the noise in dst.
func (r *SampledRun) gather(dst []int64, query SampledQuery) error {
	r.vectors.begin(len(r.batch)) // whatever a query left that panicked, or kept the sum
	err := query(r.batch, r.vectors)
	if err == nil {
		err = r.vectors.err // of a query that did not stop
	}
	copy(r.sum, r.vectors.sum)
	return finish(dst, r.sum, err)
}
