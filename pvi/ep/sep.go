package ep

import (
	"fmt"
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/study"
)

// SEPOptions say how a tied factor is refined.
type SEPOptions struct {
	// Power is that of the likelihood in tilted distributions, in (0, 1]: 1 is expectation
	// propagation, and near 0 it is variational inference.
	Power float64

	// Rate is the probability q with which a record is in a batch, by which sums are
	// divided.
	Rate float64

	// StepSize and Recency say how far a pass over the records, that is 1/q steps, moves
	// the factor towards the sum of its records' sites: by StepSize at most, and after
	// p passes by (1 + Recency)/(1 + Recency + p). So the factor is an average of sums,
	// each of which weighs as its number to the power Recency: 0 is the plain average.
	StepSize, Recency float64

	// Overlap is a bound ω on how many coordinates of θ a record has a say in, if each of them
	// moves as if the others stood still: 0 stands for 1, that they do not. A pass moves
	// precisions times means, around the mean of the cavity, by StepSize/Overlap at most.
	Overlap float64

	// Glide: with an Overlap above 1, for a diagonal family, q's mean moves as [glide] says. The
	// others' factors must stand still in all steps: an average of means holds on to where
	// they were.
	Glide bool

	// Least is the smallest precision by which the mean of a coordinate glides; nil for that of q. It keeps noise from going where the records have no say: what
	// they say with curvature h arrives in steps of total length a as 1 − exp(−ha), and noise as
	// its sd times a.
	Least []float64

	// Nominal is a public number in place of that of the records: one record's cavity is
	// without 1/Nominal of the factor. 0 leaves the whole factor in.
	Nominal float64

	// Deviation: a record contributes by how much its site differs from 1/Nominal of the
	// factor, rather than its site.
	Deviation bool

	// Improper says what happens where a factor is not one that a likelihood could have.
	Improper study.Improper

	// Raw: contributions are in coordinates around the origin, rather than around the mean
	// of the cavity, where they are smaller.
	Raw bool

	// Published is the step of the DP-SEP paper: the factor moves by StepSize/Nominal
	// towards the site of the batch's only record, as if that were 1/Nominal of it, which
	// is StepSize/Nominal² of the way to the sum of all, and 1/Nominal of it is clipped to
	// norm Clip.
	Published bool
	Clip      float64

	// PrecisionNoise is the sd of the noise in a precision of a sum of sites over its rate. No
	// precision of the factor is taken to be less than what the average has left of it:
	// otherwise means would go wherever the noise says, and records be matched there.
	PrecisionNoise float64

	// Reseat is the number of first steps after which a factor may be moved to where the
	// match is another one, if the records' view is a [Reseater].
	Reseat int

	// StartMean, if not nil, is where q is taken to be for the first pass, with no sd
	// above StartSD.
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
		return fmt.Errorf("sep: a share of the factor needs a number of records, got %g", o.Nominal)
	case o.Published && !(o.Clip > 0):
		return fmt.Errorf("sep: the published step clips the factor, to a positive norm, got %g", o.Clip)
	case o.StartMean != nil && (len(o.StartMean) != d || !(o.StartSD > 0)):
		return fmt.Errorf("sep: a start of %d means with sd %g, want %d and a positive one", len(o.StartMean), o.StartSD, d)
	}
	return nil
}

// A Reseater knows a better place for a factor that is stuck, from nothing but the factor,
// whose precisions have noise of an sd, the cavity of the client, and a number.
type Reseater interface {
	Reseat(factor, outer []float64, noise float64, number int) bool
}

// share returns by how much of the way to a sum of sites the step moves the factor that
// comes after t others, where the sum is that of a batch over its rate.
func (o *SEPOptions) share(t int) float64 {
	if o.Published {
		return o.StepSize / (o.Nominal * o.Nominal)
	}
	passes := float64(t) * o.Rate
	return o.Rate * min(o.StepSize, (1+o.Recency)/(1+o.Recency+passes))
}

// glides reports whether q's mean moves with momentum and is averaged.
func (o *SEPOptions) glides() bool { return o.Glide && o.Overlap > 1 && !o.Published }

// moving is share for precisions times means. A diagonal family takes the step of every
// coordinate as if the others stood still. With D the diagonal of the precision H, steps of
// share β by D⁻¹ converge if β < 2/λ, λ the largest eigenvalue of D^−½ H D^−½, which is no
// larger than the number ω of coordinates that a record has a say in: H is a sum of positive
// semidefinite matrices, each of which is at most so many times its own diagonal. Steps that
// glide count ω passes as one.
func (o *SEPOptions) moving(t int) float64 {
	if !o.glides() {
		return min(o.share(t), o.Rate*o.StepSize/max(o.Overlap, 1))
	}
	passes := float64(t) * o.Rate / o.Overlap
	return o.Rate * min(o.StepSize/o.Overlap, (1+o.Recency)/(1+o.Recency+passes))
}

// momentum is the share of a step that the next one repeats, after t others: ω short steps add up to
// a whole one where nothing else moves along.
func (o *SEPOptions) momentum(t int) float64 {
	if !o.glides() {
		return 0
	}
	return min(1-1/o.Overlap, float64(t)/float64(t+3))
}

// settling is by how much the average of q's means moves towards the one after t others, which
// weighs as its number (Shamir and Zhang, "Stochastic Gradient Descent for Non-smooth
// Optimization", 2013, equation 4, with η = 1).
func (o *SEPOptions) settling(t int) float64 {
	if !o.glides() {
		return 1
	}
	return 2 / float64(t+2)
}

// Reach returns the length of so many steps together, with what momentum makes of them, in whole
// ones: what a coordinate's mean moves by is a gradient times this over its precision.
func (o *SEPOptions) Reach(steps int) (sum float64) {
	for t := range steps {
		sum += o.moving(t) / (1 - o.momentum(steps))
	}
	return sum
}

// MeanNoiseLeft returns the variance of the noise in a precision times mean that is proposed after
// so many steps, around the mean of q, in units of that of a sum over its rate; exactly so along directions in which
// the precision of q is that of the posterior. It follows the sums back from what is proposed.
func (o *SEPOptions) MeanNoiseLeft(steps int) (variance float64) {
	var mean, velocity float64 // derivatives of what is proposed in those after step t
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

// NoiseLeft returns the variance of the noise that the average over so many steps keeps, in
// units of that of a sum over its rate.
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

// SEP writes to dst the tied factor of all records, beside the given prior or cavity, after
// so many passes over them without a batch and without noise. It is the reference for
// [DPSEP], and not private.
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
