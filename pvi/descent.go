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
	Batch    int     // of a client with the nominal number of records, where its size is fixed; 0 else
	Clip     float64
	Typical  float64 // norm of a record's gradient, of which Clip is a share; 0 if Clip was given
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

	// The travel of clients together: what all visits of all clients add up to.
	sequentialTravel, synchronousTravel = 80, 60

	// largestStep is the most that one step should change the logarithm of an sd.
	largestStep = 0.4

	// clipIntervals is the clip, as a share of what gradients typically are, where
	// intervals are wanted: what is clipped moves estimates, and no interval knows of it.
	clipIntervals = 0.9

	// many is how many records of the whole federation are many.
	many = 10_000
)

// ErrNoClip is returned for a study that does not say to what gradients are clipped, of a
// model for which there is no rule.
var ErrNoClip = errors.New("nothing public says how large a record's gradient is in this model: write privacy.clip, the L2 norm to which gradients are clipped; sim tune finds one on made-up records")

// A pace is what depends on how many records there are. Where they are few, noise is
// what is lost by, and a smaller clip and longer steps out of it serve best; where they
// are many, the bias of the clip and the jitter of the last steps are.
type pace struct {
	// travel is the most that step size times steps of a client may be. Adam moves a
	// coordinate by half a step size a step on average, with steps that fall to nothing:
	// it is what a coordinate may have to travel, whatever ε and the dimension are.
	travel float64
	clip   float64 // as a share of what gradients typically are
}

var paces = struct{ few, unknown, many, summed pace }{
	few:     pace{80, 0.5},
	unknown: pace{40, 0.6},
	many:    pace{20, 0.7},
	// Where sums over many records move q there is less noise beside the signal.
	summed: pace{10, 0.84},
}

func (p *Protocol) pace() pace {
	switch n := p.study.Federation.NominalRecords * len(p.roster); {
	case n == 0:
		return paces.unknown
	case n < many:
		return paces.few
	case p.Summed():
		return paces.summed
	}
	return paces.many
}

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
		return p.pace().travel
	}
	if in.Schedule == study.Synchronous {
		return min(p.pace().travel, synchronousTravel/(in.Damping.Alpha*m))
	}
	return min(p.pace().travel, sequentialTravel/m)
}

// Between leastClip and mostClip there is a lattice for every noise.
const leastClip, mostClip = 1e-50, 1e50

func (p *Protocol) deriveGradientClip(d *Descent) error {
	if d.Clip = p.study.Privacy.Clip; d.Clip > 0 {
		if d.Clip < leastClip || d.Clip > mostClip {
			return fmt.Errorf("privacy.clip = %g is no norm that a gradient could have: write one from %g to %g", d.Clip, leastClip, mostClip)
		}
		return nil
	}
	if d.Typical = p.model.TypicalGradient(); d.Typical == 0 {
		return ErrNoClip
	}
	d.Typical *= contribution(p.study.Inference.Descent)
	share := p.pace().clip
	if p.study.Inference.NoiseAware == study.OneStep {
		share = clipIntervals
	}
	d.Clip = share * d.Typical
	return nil
}

// contribution is how many times longer than one gradient a record's whole contribution
// to a step is: draws of independent directions add their squares, and so does a
// preconditioned gradient in the spread, which is as long as that in the mean.
func contribution(d study.Descent) float64 {
	squares := float64(d.Draws)
	if d.Gradients == study.Preconditioned {
		squares *= 2
	}
	return math.Sqrt(squares)
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
	return p.sampledBy(p.samplingFor(records), records, multiplier)
}

func (p *Protocol) sampledBy(sampling dpmech.Sampling, records int, multiplier float64) (*dpmech.SampledSum, error) {
	in := p.study.Inference.Descent
	size := p.model.Dim() * in.Draws
	if in.Gradients.Joint() {
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

// stated is the number of records for which the mechanism of a study is stated: the
// most, since how many there are is private; but the nominal number where batches have a
// fixed size, which is then public.
func (p *Protocol) stated() int {
	if p.descent.Batch > 0 {
		return p.study.Federation.NominalRecords
	}
	return p.study.Federation.MaxRecords
}

// deriveSampled finds the noise with which all steps of the study together meet its
// target, for the most records that a client may have: the number that it has is
// private. Where the sampling is accounted as published it is the published cost that
// meets it.
func (p *Protocol) deriveSampled() error {
	if err := p.deriveDescent(); err != nil {
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
	if err != nil {
		return fmt.Errorf("%w (a vector is a record's gradient)", err)
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
		rate := float64(p.descent.Batch) / float64(p.stated())
		if p.accounted, err = p.sampledBy(dpmech.Poisson{Rate: rate}, p.stated(), multiplier); err != nil {
			return err
		}
	}
	if p.curvature, err = p.newCurvature(multiplier); err != nil {
		return err
	}
	return p.setStart(multiplier)
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

// AveragedNoise returns the sd of a client's noise on the sum of its clipped gradients,
// averaged over all steps and their draws: what no number of steps takes away.
func (p *Protocol) AveragedNoise() float64 {
	draws := p.descent.Total * p.study.Inference.Descent.Draws
	return p.Noise().SD / (p.descent.Rate * math.Sqrt(float64(draws)))
}
