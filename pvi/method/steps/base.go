package steps

import (
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
)

// Most is the largest number of noisy sums that a client can release.
const Most = 10_000_000

// LeastClip and MostClip limit the clipping bound, so that a lattice exists for every noise
// multiplier.
const LeastClip, MostClip = 1e-50, 1e50

// SampledRate is the default sampling rate if batches do not contain all records.
const SampledRate = 0.1

// Affordable is how much work one core can do within a few minutes. It is a number of records times
// coordinates of θ. Studies that need more sample batches by default.
const Affordable = 1e11

// OfRound returns the number of steps per round. It is at least minimum, and at least total over
// all rounds.
func OfRound(rounds, total, minimum int) int {
	return max(minimum, (total+rounds-1)/rounds)
}

// A Config describes the mechanism that adds noise to the clients' private steps.
type Config struct {
	Steps *method.Steps
	Dim   int // length of a record's contribution

	// Releases is the number of clients whose vectors are added up in a published sum.
	Releases int

	// Records is the number of records that the cost is computed for. It is the largest number that a
	// client may have if the number is private, and the nominal number if batches have a fixed size.
	Records int

	// Sampling returns how a client with the given number of records draws its batches.
	Sampling func(records int) dpmech.Sampling
}

// A Base holds the mechanism of a method with private steps, and computes its cost.
type Base struct {
	*method.Setting
	method.Sending
	config  Config
	sampled *dpmech.SampledSum
}

// New returns the base whose mechanism has the given noise multiplier.
func New(s *method.Setting, c Config, multiplier float64) (*Base, error) {
	b := &Base{Setting: s, config: c}
	var err error
	b.sampled, err = b.by(c.Sampling(c.Records), c.Records, nil, multiplier)
	return b, err
}

// by returns the mechanism for batches drawn from the given number of records. If the study
// protects people, records is the number of people, and rows holds the first row of each person,
// followed by the number of rows.
func (b *Base) by(sampling dpmech.Sampling, records int, rows []int32, multiplier float64) (*dpmech.SampledSum, error) {
	return dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: sampling, Records: records, Rows: rows, Steps: b.config.Steps.Total,
		Dim: b.config.Dim, Clip: b.config.Steps.Clip, NoiseMultiplier: multiplier,
		Shares: b.Shares(), Releases: b.config.Releases, Terms: b.terms(), Adjacency: b.Study.Privacy.Adjacency,
		PerUnit: b.Holders(),
	})
}

// terms returns the number of vectors that a release must have room for. If the releases of several
// clients are added up, their range is public, and terms returns the size of the largest batch of
// b.sampled. Otherwise, and as long as b.sampled does not exist, it returns 0, which stands for the
// client's largest batch.
func (b *Base) terms() int {
	if b.config.Releases == 1 || b.sampled == nil {
		return 0
	}
	return b.sampled.MaxBatch()
}

// For returns the mechanism for a client. Only its batch sizes depend on the records.
func (b *Base) For(s *shard.Shard) (*dpmech.SampledSum, error) {
	return b.Drawing(b.config.Sampling(s.Units()), s)
}

// Drawing returns the mechanism for a client that draws batches by the given sampling.
func (b *Base) Drawing(sampling dpmech.Sampling, s *shard.Shard) (*dpmech.SampledSum, error) {
	return b.by(sampling, s.Units(), s.Rows(), b.sampled.NoiseMultiplier())
}

// Sampling returns how a client with the given number of records draws its batches.
func (b *Base) Sampling(records int) dpmech.Sampling { return b.config.Sampling(records) }

// Claimed returns the mechanism with the sampling that a published privacy claim assumes.
func (b *Base) Claimed(sampling dpmech.Sampling) (*dpmech.SampledSum, error) {
	return b.by(sampling, b.config.Records, nil, b.sampled.NoiseMultiplier())
}

// Steps implements [method.Stepped].
func (b *Base) Steps() *method.Steps { return b.config.Steps }

// Sampled implements [method.Stepped].
func (b *Base) Sampled() *dpmech.SampledSum { return b.sampled }

// Start implements [method.Stepped]. There are no starting statistics.
func (b *Base) Start() (*dpmech.GaussianSum, bool) { return nil, false }

// Noise implements [method.Method].
func (b *Base) Noise() method.Noise { return method.NoiseOf(b.sampled) }

// Releases implements [method.Method]. Every step is a release.
func (b *Base) Releases() int { return b.config.Steps.Total }

// ReleasesAfter implements [method.Method].
func (b *Base) ReleasesAfter(rounds int) int {
	return min(rounds*b.config.Steps.Round, b.config.Steps.Total)
}

// Event implements [method.Method].
func (b *Base) Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return EventOf(b.sampled, shares, adjacency, releases)
}

// EventOf returns the cost of the first releases of m. If the batches of a whole epoch are drawn at
// once, the first step of the epoch pays for all of them.
func EventOf(m *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if m.Epoch() == 1 {
		step, err := m.SharedEventFor(1, shares, adjacency)
		return accountant.Repeated{Event: step, Times: releases}, err
	}
	if releases == 0 {
		return accountant.Repeated{Event: accountant.Composed{}}, nil
	}
	all, err := m.SharedEventFor(releases, shares, adjacency)
	return accountant.Repeated{Event: all, Times: 1}, err
}

// Increment implements [method.Method].
func (b *Base) Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	step, err := b.sampled.SharedEventFor(1, shares, adjacency)
	return accountant.Repeated{Event: step, Times: to - from}, err
}

// Adjacencies implements [method.Method]. For random allocation there is only one, because no
// separate bound on the cost of replacing a record is known.
func (b *Base) Adjacencies() []accountant.Adjacency {
	if b.config.Steps.Epoch > 1 {
		return []accountant.Adjacency{b.Study.Privacy.Adjacency}
	}
	return b.Setting.Adjacencies()
}

// NewForecast returns the forecast for a study. averaged is the standard deviation of a client's
// noise, averaged over all steps. The clipping bound applies to the gradients at all draws of θ
// together.
func (b *Base) NewForecast(averaged float64) method.Forecast {
	f := b.Setting.NewForecast(b.Noise())
	f.Noise = averaged * math.Sqrt(float64(b.Clients))
	f.Largest /= math.Sqrt(float64(b.Study.Inference.Descent.Draws))
	return f
}
