package ep

import (
	"fmt"
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/study"
)

// SEPOptions are the options of [SEP] and [DPSEP].
type SEPOptions struct {
	// Power is the power of the likelihood in tilted distributions, in (0, 1]. Power 1 is
	// expectation propagation, and powers near 0 approach variational inference.
	Power float64

	// Rate is the probability that a record is in a batch. Sums over a batch are divided by it.
	Rate float64

	// StepSize and Recency determine the length of the steps. In one pass over the records, which
	// is 1/Rate steps, the factor moves by a share of the way to the sum of the records' sites: at
	// most StepSize, and after p passes at most (1 + Recency)/(1 + Recency + p). Where the second
	// bound holds, sum n has a weight about proportional to n^Recency, so Recency 0 gives the plain
	// average.
	StepSize, Recency float64

	// Overlap is a bound ω on the number of coordinates of θ on which one record depends; 0 means
	// 1. In a diagonal family each coordinate's step ignores the others, so together they may
	// overshoot. So in one pass the precisions times means, around the cavity's mean, move by at
	// most the share StepSize/Overlap of the way.
	Overlap float64

	// Glide moves q's mean with momentum and averages the means (see glide). It needs a diagonal
	// family, and an Overlap above 1. The other clients' factors must not change during the steps,
	// because the averaged means depend on them.
	Glide bool

	// Least limits the noise that Glide leaves where the records have little information. A step of
	// the mean divides the gradient by the precision of q or by Least, whichever is larger. After
	// steps of total length a, the mean has covered the share 1 − exp(−ha) of its way along a
	// direction of curvature h, but the sd of the noise grows with a.
	Least []float64

	// Nominal is a public number that replaces the number of records. The cavity of a record is q
	// without the share Power/Nominal of the client's factor, or q itself if Nominal is 0.
	Nominal float64

	// Deviation makes a record contribute its site minus 1/Nominal of the factor.
	Deviation bool

	// Improper selects whether improper precisions are repaired or the step is skipped.
	Improper study.Improper

	// Raw clips contributions around the origin. By default they are taken around the mean of the
	// cavity, where they are smaller.
	Raw bool

	// Published selects the step of the DP-SEP paper, with batches of one record. The record's site
	// divided by Rate estimates the sum of all sites, and the factor moves by the share
	// StepSize/Nominal² of the way there. Then the factor divided by Nominal is clipped to norm
	// Clip.
	Published bool
	Clip      float64

	// PrecisionNoise is the sd of the noise in a precision of one sum of sites, divided by Rate.
	// Precisions of the factor below the sd of the noise in their average are raised to it.
	// Otherwise noise would determine the mean of q and later cavities.
	PrecisionNoise float64

	// Reseat is the last step, counted from 1, after which a [Reseater] may move a stuck factor.
	Reseat int

	// StartMean, if not nil, is the mean of q in the first step, with sds of at most StartSD.
	StartMean []float64
	StartSD   float64
}

func (o *SEPOptions) check(d int) error {
	switch {
	case !(o.Power > 0 && o.Power <= 1):
		return fmt.Errorf("sep: the power must lie in (0, 1], got %g", o.Power)
	case !(o.Rate > 0 && o.Rate <= 1):
		return fmt.Errorf("sep: the rate must lie in (0, 1], got %g", o.Rate)
	case !(o.StepSize > 0) || !(o.Recency >= 0) || math.IsInf(o.StepSize+o.Recency, 1):
		return fmt.Errorf("sep: the step size must be positive and the recency not negative, got %g and %g", o.StepSize, o.Recency)
	case !(o.Overlap == 0 || o.Overlap >= 1) || math.IsInf(o.Overlap, 1):
		return fmt.Errorf("sep: the overlap must be 1 or more, got %g", o.Overlap)
	case o.Least != nil && len(o.Least) != d:
		return fmt.Errorf("sep: least precisions of %d coordinates, want %d", len(o.Least), d)
	case (o.Deviation || o.Published) && !(o.Nominal >= 1):
		return fmt.Errorf("sep: deviations and published steps need a nominal number of records, got %g", o.Nominal)
	case o.Published && !(o.Clip > 0):
		return fmt.Errorf("sep: the published step clips the factor, to a positive norm, got %g", o.Clip)
	case o.StartMean != nil && (len(o.StartMean) != d || !(o.StartSD > 0)):
		return fmt.Errorf("sep: a start of %d means with sd %g, want %d and a positive one", len(o.StartMean), o.StartSD, d)
	}
	return nil
}

// A Reseater moves a factor that is stuck in a poor local optimum, and reports whether it did.
// outer is the prior times the other clients' factors. noise is the sd of the noise in the factor's
// precisions. number is different at each call.
type Reseater interface {
	Reseat(factor, outer []float64, noise float64, number int) bool
}

// share returns the length of step t, counted from 0. A step of length a moves the factor by the
// share a of the way to the batch's sum of sites divided by Rate.
func (o *SEPOptions) share(t int) float64 {
	if o.Published {
		return o.StepSize / (o.Nominal * o.Nominal)
	}
	passes := float64(t) * o.Rate
	return o.Rate * min(o.StepSize, (1+o.Recency)/(1+o.Recency+passes))
}

// glides reports whether q's mean moves with momentum and is averaged.
func (o *SEPOptions) glides() bool { return o.Glide && o.Overlap > 1 && !o.Published }

// moving returns the length of step t for precisions times means, at most Rate·StepSize/Overlap in
// a diagonal family, where each coordinate's step ignores the others.
//
// Let D be the diagonal of the precision H. Steps of length β along D⁻¹ times the gradient converge
// if β < 2/λ, where λ is the largest eigenvalue of D^−½ H D^−½. H is a sum of positive semidefinite
// matrices, one for each record. Each is at most ω times its own diagonal, where ω is the number of
// coordinates on which a record depends. Therefore λ ≤ ω. If q's mean glides, the steps become
// shorter as if ω passes were one pass.
func (o *SEPOptions) moving(t int) float64 {
	if !o.glides() {
		return min(o.share(t), o.Rate*o.StepSize/max(o.Overlap, 1))
	}
	passes := float64(t) * o.Rate / o.Overlap
	return o.Rate * min(o.StepSize/o.Overlap, (1+o.Recency)/(1+o.Recency+passes))
}

// momentum returns the factor by which step t multiplies the velocity of step t−1. It rises like
// t/(t+3) up to 1 − 1/Overlap, where a short step and its velocity together move the mean as far as
// one whole step.
func (o *SEPOptions) momentum(t int) float64 {
	if !o.glides() {
		return 0
	}
	return min(1-1/o.Overlap, float64(t)/float64(t+3))
}

// settling returns the weight w of the mean after step t in the average: average ← (1 − w)·average
// + w·mean. The final weight of that mean is about proportional to t (Shamir and Zhang, "Stochastic
// Gradient Descent for Non-smooth Optimization", 2013, equation 4, with η = 1).
func (o *SEPOptions) settling(t int) float64 {
	if !o.glides() {
		return 1
	}
	return 2 / float64(t+2)
}

// Reach returns the total length of the given number of steps, momentum included. The means move by
// about Reach times their gradient divided by their precision.
func (o *SEPOptions) Reach(steps int) (sum float64) {
	for t := range steps {
		sum += o.moving(t) / (1 - o.momentum(steps))
	}
	return sum
}

// MeanNoiseLeft returns the variance of the noise in a proposed precision times mean, around the
// mean of q, after the given number of steps. The unit is the variance of the noise in one sum
// divided by Rate. The result is exact along directions in which q has the precision of the
// posterior.
func (o *SEPOptions) MeanNoiseLeft(steps int) (variance float64) {
	var mean, velocity float64 // derivatives of the proposal in the mean of q and its velocity, after step t
	proposed := 1.0
	for t := steps - 1; t >= 0; t-- {
		settling, moving := o.settling(t), o.moving(t)
		mean += settling * proposed
		proposed *= 1 - settling
		after := mean + velocity
		variance += moving * moving * after * after
		mean = after*(1-moving) - velocity
		velocity = after * o.momentum(t)
	}
	return variance
}

// NoiseLeft returns the variance of the noise in the average of precisions after the given number
// of steps. The unit is the variance of the noise in one sum divided by Rate.
func (o *SEPOptions) NoiseLeft(steps int) (variance float64) {
	rest := 1.0
	for t := range steps {
		share := o.share(t)
		variance = (1-share)*(1-share)*variance + share*share
		rest *= 1 - share
	}
	if o.Published {
		return variance
	}
	moved := max(1-rest, leastMoved)
	return variance / (moved * moved)
}

// SEP writes the tied factor of all records to dst, after the given number of passes. outer is the
// prior times the other clients' factors. SEP adds no noise, so it is not private. It is the
// reference for [DPSEP].
func SEP(dst, outer []float64, t Tilted, o SEPOptions, passes int) error {
	o.Rate = 1
	if err := o.check(t.Family().Dim()); err != nil {
		return err
	}
	f := newTied(t, &o)
	site, total := make([]float64, t.Size()), make([]float64, t.Size())
	for range passes {
		if err := f.prepare(outer); err != nil {
			return err
		}
		clear(total)
		for i := range t.Records() {
			f.tilted.Site(site, i)
			f.relate(site)
			if !special.Finite(site) {
				continue
			}
			for j, x := range site {
				total[j] += x
			}
		}
		f.move(total)
	}
	return f.propose(dst)
}
