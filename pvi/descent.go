package pvi

import (
	"fmt"

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
	Batch    int     // of a client with the nominal number of records, where its size is fixed; 0 else
	Clip     float64
	Typical  float64 // norm of a record's gradient, of which Clip is a share; 0 if Clip was given

	InitialSD float64 // the most that an sd of q is at the very first step
	Epoch     int     // steps whose batches are drawn, and charged, together; 1 if steps are independent
}

// deriveDescent completes what the study leaves open.
func (p *Protocol) deriveDescent() error {
	in := p.study.Inference
	d := &Descent{Steps: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Descent.StepSize, Epoch: 1}
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
	if err := p.deriveBatch(d); err != nil {
		return err
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
		d.StepSize = min(largestStep, p.travel()/float64(d.Total))
	}
	if d.InitialSD = in.Descent.InitialSD; d.InitialSD == 0 {
		d.InitialSD = p.initialSD()
	}
	return p.deriveGradientClip(d)
}

// maxDescent is the largest number of noisy sums of a client.
const maxDescent = 10_000_000

// Descent returns what the private gradient steps come to, nil if the study has none.
func (p *Protocol) Descent() *Descent { return p.descent }

// Sampled returns what hides a record in every step of the private gradient descent of
// a client that holds as many records as the study permits; nil if there is none. A
// client with fewer has the same clip, noise, lattice and cost.
func (p *Protocol) Sampled() *dpmech.SampledSum { return p.sampled }

// sampledFor is the mechanism of a client with so many records. Nothing but the sizes
// of its batches depends on their number.
func (p *Protocol) sampledFor(records int, multiplier float64) (*dpmech.SampledSum, error) {
	return p.sampledBy(p.samplingFor(records), records, multiplier)
}

func (p *Protocol) sampledBy(sampling dpmech.Sampling, records int, multiplier float64) (*dpmech.SampledSum, error) {
	in := p.study.Inference.Descent
	size := p.model.Dim() * in.Draws
	switch {
	case p.study.Inference.Solver == study.DPSEP:
		size = p.model.SiteSize(p.family)
	case in.Gradients.Joint():
		size *= 2
	}
	releases := 1 // of a sum that anyone reads
	if p.Summed() {
		releases = len(p.roster.Clients)
	}
	return dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: sampling, Records: records, Steps: p.descent.Total,
		Dim: size, Clip: p.descent.Clip, NoiseMultiplier: multiplier,
		Shares: p.shares(), Releases: releases, Adjacency: p.study.Privacy.Adjacency,
	})
}

// stated is the number of records for which the mechanism of a study is stated: the
// most, since how many there are is private; but the nominal number where batches have a
// fixed size, which is then public.
func (p *Protocol) stated() int {
	if p.descent.Batch > 0 || p.publishedPropagation() {
		return p.study.Federation.NominalRecords
	}
	return p.study.Federation.MaxRecords
}

// deriveSampled finds the noise with which all steps of the study together meet its
// target, for the most records that a client may have: the number that it has is
// private. Where the sampling is accounted as published it is the published cost that
// meets it.
func (p *Protocol) deriveSampled() error {
	derive := p.deriveDescent
	if p.study.Inference.Solver == study.DPSEP {
		derive = p.derivePropagation
	}
	if err := derive(); err != nil {
		return err
	}
	privacy := p.study.Privacy
	multiplier := privacy.NoiseMultiplier
	if multiplier == 0 {
		target := accountant.Target{Epsilon: privacy.Epsilon, Delta: privacy.Delta}
		calibration, err := accountant.CalibrateNoise(target, func(sigma float64) (accountant.Event, error) {
			if err := p.setSampled(sigma); err != nil {
				return nil, err
			}
			return p.releasedEvent(p.accounted, p.accounted.Shares(), privacy.Adjacency, p.Releases())
		})
		if err != nil {
			return fmt.Errorf("%w (the noise multiplier follows from privacy.epsilon = %g: a lower epsilon raises it)", err, privacy.Epsilon)
		}
		multiplier = calibration.Value
	}
	err := p.setSampled(multiplier)
	if err == nil && p.study.Inference.Solver == study.DPSEP {
		_, err = p.propagationOptions()
		return err
	}
	if err != nil {
		return fmt.Errorf("%w (a vector is a record's gradient, or its site)", err)
	}
	if p.Summed() {
		_, err = p.newSumDescent()
	}
	return err
}

// setSampled makes the mechanisms for a noise multiplier of the gradients.
func (p *Protocol) setSampled(multiplier float64) (err error) {
	if p.sampled, err = p.sampledFor(p.stated(), multiplier); err != nil {
		return err
	}
	p.accounted = p.sampled
	if p.study.Inference.Descent.Sampling == study.PublishedSampling {
		if p.accounted, err = p.sampledBy(p.claimedSampling(), p.stated(), multiplier); err != nil {
			return err
		}
	}
	if p.after, err = p.lastRounds(multiplier); err != nil {
		return err
	}
	return p.setStart(multiplier)
}

// descentSolver returns the solver of one client's records.
func (p *Protocol) descentSolver(s *shard.Shard) (solver.Solver, error) {
	program, err := p.model.Records(s, len(p.roster.Clients))
	if err != nil {
		return nil, err
	}
	mechanism, err := p.sampledFor(s.Len(), p.sampled.NoiseMultiplier())
	if err != nil {
		return nil, err
	}
	o := p.descentOptions(s.Len())
	if p.start != nil {
		o.Start = solver.NewStart(p.model.Linear(), s, p.start)
	}
	return solver.NewDPSVI(program, mechanism, o)
}

// descentOptions say how a client with so many records descends or, where sums move q,
// the federation. Only batches of a fixed size, for which that number is public, make a
// difference.
func (p *Protocol) descentOptions(records int) solver.DPSVIOptions {
	d, in := p.descent, p.study.Inference.Descent
	steps := d.Steps
	if p.Summed() {
		steps = d.Total
	}
	return solver.DPSVIOptions{
		Steps: steps, Draws: in.Draws, Rate: p.rateFor(records),
		Gradients: in.Gradients, Records: float64(p.study.Federation.NominalRecords),
		Optimiser: in.Optimiser, Schedule: gpu.LinearDecay{First: d.StepSize, Last: d.StepSize * in.Decay},
		Average: in.Average, InitialSD: d.InitialSD,
	}
}
