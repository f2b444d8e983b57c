package solver

import (
	"errors"
	"fmt"
	"math"

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

// A tied factor is one site for all records of a client, to the power of their number
// (Li, Hernández-Lobato and Turner, "Stochastic Expectation Propagation", 2015). All of it
// follows from what was released.
type tied struct {
	tilted  Tilted
	options *SEPOptions
	cavity  *cavity
	proper  *proper

	taken int       // steps
	since int       // of them, in the average
	raw   []float64 // the average of sums, whatever its precision, and of the start
	start []float64 // with which the average began; nil before it did
	rest  float64   // share of the start that is left in raw
	noise float64   // variance of the noise in raw, in units of that of a sum
	used  []float64 // raw, or where that is not proper what stands in for it

	around []float64 // mean of the others' factors and the prior

	outer     []float64 // of the step under way
	deviation []float64 // what is taken from a record's site
	sum       []float64
}

func newTied(t Tilted, o *SEPOptions) *tied {
	n := t.Family().Size()
	return &tied{
		tilted: t, options: o, cavity: newCavity(t.Family()), proper: newProper(t.Family()),
		raw: make([]float64, n), used: make([]float64, n), rest: 1, around: make([]float64, t.Family().Dim()),
		deviation: make([]float64, t.Size()), sum: make([]float64, n),
	}
}

// ErrImproper is returned where the distribution that records are matched against is not
// proper.
var ErrImproper = errors.New("the distribution that records are matched against is not proper")

// begin sets the mean of the others, and at the first of all steps the start: what takes the others' factors and
// the prior to where the options say.
func (f *tied) begin(outer []float64) error {
	copy(f.cavity.Natural, outer)
	if !f.cavity.solve() {
		return ErrImproper
	}
	copy(f.around, f.cavity.Mean)
	if f.start != nil {
		return nil
	}
	f.start = make([]float64, len(f.raw))
	if f.options.StartMean != nil {
		f.place(outer, len(f.cavity.Mean))
	}
	copy(f.raw, f.start)
	copy(f.used, f.start)
	return nil
}

// place writes to start what makes the variances those of the start, and the mean its.
func (f *tied) place(outer []float64, d int) {
	for k, at := range f.cavity.entries {
		if at[0] == at[1] {
			f.start[d+k] = max(0, 1/(f.options.StartSD*f.options.StartSD)-1/f.cavity.Variance[at[0]])
		}
	}
	// (Λ + S)·mean − h, for the precision Λ and precision times mean h of the others.
	for k, at := range f.cavity.entries {
		i, j, precision := at[0], at[1], outer[d+k]+f.start[d+k]
		f.start[i] += precision * f.options.StartMean[j]
		if i != j {
			f.start[j] += precision * f.options.StartMean[i]
		}
	}
	for i := range d {
		f.start[i] -= outer[i]
	}
}

// prepare makes ready to match records: the cavity of one is that of the client, given by
// its natural parameters, and the factor but for a record's share.
func (f *tied) prepare(outer []float64) error {
	if err := f.begin(outer); err != nil {
		return err
	}
	f.outer = outer
	keep := 1.0
	if f.options.Nominal > 0 {
		keep -= f.options.Power / f.options.Nominal
	}
	for i, x := range f.used {
		f.cavity.Natural[i] = outer[i] + keep*x
	}
	if !f.cavity.solve() {
		return ErrImproper
	}
	f.tilted.Set(&f.cavity.Approximation)
	if f.options.Deviation {
		for i, x := range f.used {
			f.sum[i] = x / f.options.Nominal
		}
		if !f.options.Raw {
			f.centre(f.sum, -1)
		}
		f.tilted.Compress(f.deviation, f.sum)
	}
	return nil
}

// centre moves natural parameters to coordinates around the cavity's mean, or back.
func (f *tied) centre(natural []float64, sign float64) {
	for i := range f.cavity.Mean {
		f.cavity.Mean[i] *= sign
	}
	shift(natural, f.cavity.Mean, f.cavity.entries)
	for i := range f.cavity.Mean {
		f.cavity.Mean[i] *= sign
	}
}

// sites writes what records contribute, one after another.
func (f *tied) sites(dst []float64, records []uint32) {
	size := f.tilted.Size()
	if all, ok := f.tilted.(Batcher); ok {
		all.Sites(dst, records)
	} else {
		for i, record := range records {
			f.tilted.Site(dst[i*size:(i+1)*size], int(record))
		}
	}
	if !f.options.Raw && !f.options.Deviation {
		return
	}
	for ; len(dst) > 0; dst = dst[size:] {
		f.relate(dst[:size])
	}
}

// relate takes a site to the coordinates of contributions.
func (f *tied) relate(site []float64) {
	if f.options.Raw {
		f.tilted.Expand(f.sum, site)
		f.centre(f.sum, 1)
		f.tilted.Compress(site, f.sum)
	}
	if f.options.Deviation {
		for i, x := range f.deviation {
			site[i] -= x
		}
	}
}

// move moves the factor by the sum of a batch's contributions, which it overwrites. It
// reports whether the factor was proper.
func (f *tied) move(total []float64) bool {
	for i := range total {
		total[i] /= f.options.Rate
	}
	f.tilted.Expand(f.sum, total)
	if !f.options.Raw {
		f.centre(f.sum, 1)
	}
	share := f.options.share(f.since)
	for i := range f.raw {
		towards := f.sum[i]
		if f.options.Deviation {
			towards += f.used[i]
		}
		f.raw[i] += share * (towards - f.raw[i])
	}
	f.rest *= 1 - share
	f.noise = (1-share)*(1-share)*f.noise + share*share
	f.taken++
	f.since++
	if f.options.Published {
		f.shorten()
	}
	copy(f.sum, f.raw)
	was := f.proper.raise(f.sum, f.floor(), f.around)
	if was || f.options.Improper == study.Project {
		copy(f.used, f.sum)
	}
	f.reseat()
	return was
}

// floor is the sd of what the average has left of the noise in a precision; along the
// directions of a matrix of it, of d rows, noise reaches √d times as far.
func (f *tied) floor() float64 {
	reach := 1.0
	if f.cavity.Covariance != nil {
		reach = math.Sqrt(float64(len(f.cavity.Mean)))
	}
	return reach * f.options.PrecisionNoise * math.Sqrt(f.noise)
}

// reseat begins the average anew where the factor is stuck.
func (f *tied) reseat() {
	r, ok := f.tilted.(Reseater)
	if !ok || f.taken > f.options.Reseat || !r.Reseat(f.used, f.outer, f.options.PrecisionNoise*math.Sqrt(f.noise), f.taken) {
		return
	}
	copy(f.start, f.used)
	copy(f.raw, f.used)
	f.rest, f.noise, f.since = 1, 0, 0
}

// shorten clips a record's share of the factor, as published.
func (f *tied) shorten() {
	var squares float64
	for _, x := range f.raw {
		squares += x * x
	}
	if norm := math.Sqrt(squares) / f.options.Nominal; norm > f.options.Clip {
		for i := range f.raw {
			f.raw[i] *= f.options.Clip / norm
		}
	}
}

// leastMoved is the share of a factor that must be of sums before the start is taken out
// of it: that of one pass by whole steps.
const leastMoved = 0.6

// propose writes the factor without what is left of the start, with precisions above their
// noise.
func (f *tied) propose(dst []float64) {
	if f.options.Published {
		copy(dst, f.used)
		return
	}
	moved := max(1-f.rest, leastMoved)
	for i, x := range f.raw {
		dst[i] = (x - f.rest*f.start[i]) / moved
	}
	f.proper.raise(dst, f.floor()/moved, f.around)
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
			if !finite(site) {
				continue
			}
			for j, x := range site {
				total[j] += x
			}
		}
		f.move(total)
	}
	f.propose(dst)
	return nil
}
