package pvi

import (
	"fmt"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/ep"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// Steps of a client in the whole study in which sites are released: passes over its records
// at least, and steps of one round.
const (
	sepPasses     = 20 // times how many coordinates move together
	overlapPasses = 50 // and of coordinates that move together, times how many do
	sepLeast      = 2
	clipSites     = 0.7 // of what a record's site typically is,
	clipIntact    = 1.7 // and where intervals are wanted, which know nothing of what is clipped
	reseatedShare = 2   // of the steps, one in so many, after which clusters may be moved
)

// derivePropagation completes what the study leaves open.
func (p *Protocol) derivePropagation() error {
	in, nominal := p.study.Inference, p.study.Federation.NominalRecords
	d := &Descent{Steps: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Propagation.StepSize, InitialSD: in.Descent.InitialSD, Epoch: 1}
	p.descent = d
	passes := sepPasses * p.Overlap()
	switch {
	case in.Descent.Sampling == study.PublishedSampling:
		d.Rate, d.Epoch = 1/float64(nominal), nominal
	case d.Rate == 0:
		d.Rate = 1
		if float64(nominal)*passes*float64(p.family.Size()) > affordable/siteCost {
			d.Rate = sampledRate
		}
	case in.Descent.Sampling == study.AllocatedSampling:
		d.Epoch = max(1, int(math.Round(1/d.Rate)))
		d.Rate = 1 / float64(d.Epoch)
	}
	if d.Steps == 0 {
		d.Steps = stepsOfRound(in.Rounds, int(math.Ceil(passes/d.Rate)), sepLeast)
		d.Steps = (d.Steps + d.Epoch - 1) / d.Epoch * d.Epoch
	}
	if d.Steps%d.Epoch != 0 {
		return fmt.Errorf("inference.steps = %d is no whole number of epochs of %d steps, in each of which every record is in one: write a multiple", d.Steps, d.Epoch)
	}
	d.Total = d.Steps * in.Rounds
	if d.Total > maxDescent {
		return fmt.Errorf("%d rounds of %d steps are %d noisy sums of a client, at most %d are possible: lower inference.rounds or inference.steps", in.Rounds, d.Steps, d.Total, maxDescent)
	}
	return p.deriveSiteClip(d)
}

// Overlap bounds how many coordinates of θ move together, each as if it moved alone.
func (p *Protocol) Overlap() float64 {
	if p.family.Name() == "full" {
		return 1
	}
	return float64(p.model.Touched())
}

// Glides reports whether the mean of a client's q moves with momentum and is averaged: where
// coordinates move together towards the one mode of a regression, and nothing else changes
// in all of the steps.
func (p *Protocol) Glides() bool {
	family := p.study.Model.Family
	return p.Overlap() > 1 && p.study.Inference.Rounds == 1 && family != study.Mixture && family != study.NeuralNetwork
}

// siteCost is about how many times as long as a gradient a site takes.
const siteCost = 10

// deriveSiteClip takes what a record's site typically is: its precision times mean around
// the mean of q is about as long as a gradient, and its precision is its curvature, of
// which all elements count if they are released.
func (p *Protocol) deriveSiteClip(d *Descent) error {
	if d.Clip = p.study.Privacy.Clip; d.Clip > 0 {
		if d.Clip < leastClip || d.Clip > mostClip {
			return fmt.Errorf("privacy.clip = %g is no norm that a site could have: write one from %g to %g", d.Clip, leastClip, mostClip)
		}
		return nil
	}
	if d.Typical = p.model.TypicalGradient(); d.Typical == 0 {
		return ErrNoClip
	}
	if p.family.Name() == "full" {
		d.Typical = math.Hypot(d.Typical, p.study.Inference.Propagation.PrecisionWeight*p.model.Curvature()*p.study.TypicalSquares())
	}
	d.Clip = clipSites * d.Typical
	if p.study.Inference.NoiseAware == study.OneStep {
		d.Clip = clipIntact * d.Typical
	}
	return nil
}

// propagationSampling is how a client samples its records.
func (p *Protocol) propagationSampling() dpmech.Sampling {
	d := p.descent
	switch {
	case p.study.Inference.Descent.Sampling == study.PublishedSampling:
		return dpmech.Permutation{Batches: d.Epoch}
	case d.Epoch > 1:
		return dpmech.RandomAllocation{Steps: d.Epoch, Picks: 1}
	case d.Rate == 1:
		return dpmech.FullBatch{}
	}
	return dpmech.Poisson{Rate: d.Rate}
}

// publishedPropagation reports whether the steps are those of the DP-SEP paper.
func (p *Protocol) publishedPropagation() bool {
	in := p.study.Inference
	return in.Solver == study.DPSEP && in.Descent.Sampling == study.PublishedSampling
}

// propagationOptions say how a client moves its factor.
func (p *Protocol) propagationOptions() (ep.SEPOptions, error) {
	d, how := p.descent, p.study.Inference.Propagation
	o := ep.SEPOptions{
		Power: how.Power, Rate: d.Rate, StepSize: how.StepSize, Recency: how.Recency,
		Overlap: p.Overlap(), Glide: p.Glides(), Nominal: float64(p.study.Federation.NominalRecords),
		Deviation: how.Contribution == study.DeviationContribution, Improper: how.Improper, Raw: how.Raw,
		Published: p.study.Inference.Descent.Sampling == study.PublishedSampling, Clip: d.Clip,
		PrecisionNoise: p.Noise().SD / (d.Rate * how.PrecisionWeight), StartSD: d.InitialSD,
	}
	if how.Reseat {
		o.Reseat = d.Total / reseatedShare
	}
	if o.Published {
		o.PrecisionNoise = 0
	} else {
		o.Least = p.leastPrecisions(&o)
	}
	var err error
	switch {
	case how.Start == study.DrawnStart:
		o.StartMean = p.drawnStart()
	case how.StartAt != nil:
		o.StartMean, err = p.model.Start(how.StartAt)
	}
	return o, err
}

// reached is how far noise may take a coefficient that records have no say in, in sds of the
// prior. Abalone and Adult with seeds 101 and above: at 1 steps stop short on the one, at 5 noise
// costs on the other.
const reached = 2

// leastPrecisions bounds the length a of a coordinate's steps together, which noise of sd τ in the
// gradient takes τa far.
func (p *Protocol) leastPrecisions(o *ep.SEPOptions) []float64 {
	if !o.Glide {
		return nil
	}
	tau := p.Noise().SD / o.Rate * math.Sqrt(o.NoiseLeft(p.descent.Total))
	reach := o.Reach(p.descent.Total)
	least := make([]float64, p.model.Dim())
	for i, parameter := range p.model.Parameters.All() {
		least[i] = tau * reach / (reached * parameter.Prior.SD)
	}
	return least
}

// drawnStart is a draw from the prior that follows from the identity of the protocol.
func (p *Protocol) drawnStart() []float64 {
	at := make([]float64, p.model.Dim())
	dpmech.FillPublicNormal(at, "start of expectation propagation", p.digest, 0)
	for i, parameter := range p.model.Parameters.All() {
		at[i] = parameter.Prior.Mean + parameter.Prior.SD*at[i]
	}
	return at
}

// propagationSolver returns the solver of one client's records.
func (p *Protocol) propagationSolver(s *shard.Shard) (solver.Solver, error) {
	mechanism, err := p.sampledFor(s.Len(), p.sampled.NoiseMultiplier())
	if err != nil {
		return nil, err
	}
	o, err := p.propagationOptions()
	if err != nil {
		return nil, err
	}
	return ep.NewDPSEP(p.model.Tilted(s, p.family, len(p.roster.Clients)), mechanism, o, p.descent.Steps)
}

// siteNoise returns the sd of a client's noise in an element of its factor, around the mean
// of q and where it counts whole: what the average over steps leaves of it.
func (p *Protocol) siteNoise() float64 {
	o, err := p.propagationOptions()
	if err != nil {
		return math.NaN() // unreachable: NewProtocol has asked for them
	}
	return p.Noise().SD / p.descent.Rate * math.Sqrt(o.MeanNoiseLeft(p.descent.Total))
}
