package pvi

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Descent is what the private gradient steps of a study come to. All of it follows
// from public numbers.
type Descent struct {
	Steps    int // of a client in one round
	Total    int // of a client in the whole study
	Rate     float64
	StepSize float64 // at the beginning; it falls linearly to Decay times that
	Clip     float64
	Bound    float64 // on the norm of a record's gradient, of which Clip is a share; 0 if Clip was given
}

// The rules by which numbers that a study leaves open are derived: settings on a
// plateau of simulations on the Adult, Abalone and breast cancer data, with ε from 0.3
// to 4.
const (
	// Steps of a client in the whole study, and least steps of one round, if every
	// record is in every batch; and if a part is.
	fullTotal, fullLeast       = 200, 4
	sampledTotal, sampledLeast = 400, 20
	sampledRate                = 0.1

	// affordable is how many products of a record and a coordinate of θ a client
	// should have to compute in a study: some minutes on one core. Beyond, batches are
	// sampled.
	affordable = 1e11

	// Adam moves a coordinate by half a step size a step on average, with steps that
	// fall to nothing. The total is what a coordinate may have to travel.
	pooledTravel, sequentialTravel, synchronousTravel = 40, 80, 60

	// Where sums over that many records or more move q, there is less noise beside the
	// signal: larger steps than these only keep q hot, and a shorter clip costs more
	// likelihood than its noise.
	manyRecords, manyTravel, manyClip = 10_000, 10, 0.8

	// typical is what records' gradients have of the bound on them, and clipTypical
	// the clip that serves the log likelihood best, as a share of that.
	typical, clipTypical = 0.9, 0.65
)

// deriveDescent completes what the study leaves open.
func (p *Protocol) deriveDescent() error {
	in := p.study.Inference
	d := &Descent{Steps: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Descent.StepSize}
	p.descent = d
	if d.Rate == 0 {
		d.Rate = 1
		steps := d.Steps
		if steps == 0 {
			steps = stepsOfRound(in.Rounds, fullTotal, fullLeast)
		}
		if float64(p.study.Federation.NominalRecords)*float64(in.Rounds*steps)*float64(p.model.Dim()) > affordable {
			d.Rate = sampledRate
		}
	}
	switch {
	case d.Steps > 0:
	case d.Rate == 1:
		d.Steps = stepsOfRound(in.Rounds, fullTotal, fullLeast)
	default:
		d.Steps = stepsOfRound(in.Rounds, sampledTotal, sampledLeast)
	}
	d.Total = d.Steps * in.Rounds
	if d.Total > maxDescent {
		return fmt.Errorf("%d rounds of %d steps are %d noisy sums of a client, at most %d are possible: lower inference.rounds or inference.steps", in.Rounds, d.Steps, d.Total, maxDescent)
	}
	if d.StepSize == 0 {
		d.StepSize = p.travel() / float64(d.Total)
	}
	return p.deriveGradientClip(d)
}

// maxDescent is the largest number of noisy sums of a client.
const maxDescent = 10_000_000

func stepsOfRound(rounds, total, least int) int {
	return max(least, (total+rounds-1)/rounds)
}

// travel returns step size times steps of a client. Every visit of every client moves
// q, in a synchronous round by α; or every sum over all of them does.
func (p *Protocol) travel() float64 {
	in, m := p.study.Inference, float64(len(p.roster))
	if p.Summed() {
		if p.manySummed() {
			return manyTravel
		}
		return pooledTravel
	}
	if in.Schedule == study.Synchronous {
		return min(pooledTravel, synchronousTravel/(in.Damping.Alpha*m))
	}
	return min(pooledTravel, sequentialTravel/m)
}

// manySummed reports whether gradients are summed over very many records.
func (p *Protocol) manySummed() bool {
	f := p.study.Federation
	return p.Summed() && float64(f.NominalRecords)*float64(len(p.roster)) >= manyRecords
}

func (p *Protocol) deriveGradientClip(d *Descent) error {
	if d.Clip = p.study.Privacy.Clip; d.Clip > 0 {
		return nil
	}
	if d.Bound = p.model.GradientBound(); d.Bound == 0 {
		return errors.New("nothing public bounds a record's gradient in this model: write privacy.clip, the L2 norm to which gradients are clipped, such as one found on made-up data")
	}
	d.Clip = clipTypical * typical * d.Bound
	if p.manySummed() {
		d.Clip = manyClip * typical * d.Bound
	}
	return nil
}

// Descent returns what the private gradient steps come to, nil if the study has none.
func (p *Protocol) Descent() *Descent { return p.descent }

// Sampled returns what hides a record in every step of the private gradient descent of
// a client that holds as many records as the study permits; nil if there is none. A
// client with fewer has the same clip, noise, lattice and cost.
func (p *Protocol) Sampled() *dpmech.SampledSum { return p.sampled }

// sampledFor is the mechanism of a client with so many records. Nothing but the sizes
// of its batches depends on their number.
func (p *Protocol) sampledFor(records int, multiplier float64) (*dpmech.SampledSum, error) {
	var sampling dpmech.Sampling = dpmech.FullBatch{}
	if p.descent.Rate < 1 {
		sampling = dpmech.Poisson{Rate: p.descent.Rate}
	}
	size := p.model.Dim()
	if p.study.Inference.Descent.Joint {
		size *= 2
	}
	releases := 1 // of a sum that anyone reads
	if p.Summed() {
		releases = len(p.roster)
	}
	return dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: sampling, Records: records, Steps: p.descent.Total,
		Dim: size, Clip: p.descent.Clip, NoiseMultiplier: multiplier,
		Shares: p.shares(), Releases: releases, Adjacency: p.study.Privacy.Adjacency,
	})
}

// deriveSampled finds the noise with which all steps of the study together meet its
// target, for the most records that a client may have: the number that it has is
// private.
func (p *Protocol) deriveSampled() error {
	if err := p.deriveDescent(); err != nil {
		return err
	}
	privacy := p.study.Privacy
	multiplier := privacy.NoiseMultiplier
	if multiplier == 0 {
		target := accountant.Target{Epsilon: privacy.Epsilon, Delta: privacy.Delta}
		calibration, err := accountant.CalibrateNoise(target, func(sigma float64) (accountant.Event, error) {
			m, err := p.sampledFor(p.study.Federation.MaxRecords, sigma)
			if err != nil {
				return nil, err
			}
			return p.withScaling(m.Event(), 1, m.Shares(), privacy.Adjacency), nil
		})
		if err != nil {
			return fmt.Errorf("%w (the noise multiplier follows from privacy.epsilon = %g: a lower epsilon raises it)", err, privacy.Epsilon)
		}
		multiplier = calibration.Value
	}
	var err error
	if p.sampled, err = p.sampledFor(p.study.Federation.MaxRecords, multiplier); err != nil {
		return fmt.Errorf("%w (a vector is a record's gradient)", err)
	}
	if p.Summed() {
		_, err = p.newSumDescent()
	}
	return err
}

// descentSolver returns the solver of one client's records.
func (p *Protocol) descentSolver(s *shard.Shard) (solver.Solver, error) {
	program, err := p.model.Records(s, len(p.roster))
	if err != nil {
		return nil, err
	}
	mechanism, err := p.sampledFor(s.Len(), p.sampled.NoiseMultiplier())
	if err != nil {
		return nil, err
	}
	return solver.NewDPSVI(program, mechanism, p.descentOptions())
}

// descentOptions say how a client descends or, where sums move q, the federation.
func (p *Protocol) descentOptions() solver.DPSVIOptions {
	d, in := p.descent, p.study.Inference.Descent
	steps := d.Steps
	if p.Summed() {
		steps = d.Total
	}
	return solver.DPSVIOptions{
		Steps: steps, Rate: d.Rate, Joint: in.Joint,
		Optimiser: in.Optimiser, Schedule: gpu.LinearDecay{First: d.StepSize, Last: d.StepSize * in.Decay},
		Average: in.Average, InitialSD: in.InitialSD,
	}
}

// A Noise is what hides a release: the clip C, the noise multiplier σ, and the sd of a
// client's noise.
type Noise struct {
	Clip       float64
	Multiplier float64
	SD         float64 // of a client's noise in one release
	Sigma      int64   // the same, in steps of the lattice
	Lattice    dpmech.Lattice
}

// Noise returns what hides a client's releases. The study must make a promise.
func (p *Protocol) Noise() Noise {
	var m interface {
		Clip() float64
		NoiseMultiplier() float64
		ShareSigma() int64
		Lattice() dpmech.Lattice
	}
	if m = p.sampled; p.sampled == nil {
		m = p.Mechanism()
	}
	return Noise{m.Clip(), m.NoiseMultiplier(), m.Lattice().Float(m.ShareSigma()), m.ShareSigma(), m.Lattice()}
}

// eventOf returns the cost of one release under an adjacency, in a sum with so many
// shares of noise that an observer does not know.
func (p *Protocol) eventOf(shares int, adjacency accountant.Adjacency) (accountant.Event, error) {
	if p.sampled != nil {
		return p.sampled.SharedEventFor(1, shares, adjacency)
	}
	return p.Mechanism().EventFor(shares, adjacency), nil
}

// AveragedNoise returns the sd of a client's noise on the sum of its clipped gradients,
// averaged over all steps: what no number of steps takes away.
func (p *Protocol) AveragedNoise() float64 {
	return p.Noise().SD / (p.descent.Rate * math.Sqrt(float64(p.descent.Total)))
}
