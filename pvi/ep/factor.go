package ep

import (
	"errors"
	"math"

	"fedpvi/pvi/study"
)

// A tied factor is the factor of a client in stochastic expectation propagation: all records have
// the same site, and the factor is this site to the power of the number of records (Li,
// Hernández-Lobato and Turner, "Stochastic Expectation Propagation", 2015). In DPSEP it depends
// only on released sums.
type tied struct {
	tilted  Tilted
	options *SEPOptions
	cavity  *cavity
	proper  *proper

	taken int       // number of steps taken
	since int       // steps since the average in raw (re)started
	used  []float64 // factor for which sites are computed
	// raw is the weighted average of start and of the released sums. Only its precisions are used,
	// which may be improper. With the option Published, raw is the factor of the DP-SEP paper, and
	// all of it is used.
	raw   []float64
	start []float64 // factor at which the average in raw (re)started; nil before the first step
	rest  float64   // weight of start in raw
	noise float64   // variance of the noise in raw, relative to one sum

	around []float64 // mean of outer
	glide  glide

	outer     []float64 // natural parameters of the prior times the other clients' factors
	deviation []float64 // with the option Deviation, the vector subtracted from each record's site
	sum       []float64
	own       []float64 // the factor around the cavity's mean
	raised    []float64 // natural parameters by which pull raises the factor
	gap       []float64 // around minus the cavity's mean
}

func newTied(t Tilted, o *SEPOptions) *tied {
	n, d := t.Family().Size(), t.Family().Dim()
	return &tied{
		tilted: t, options: o, cavity: newCavity(t.Family()), proper: newProper(t.Family()),
		used: make([]float64, n), raw: make([]float64, n), rest: 1,
		deviation: make([]float64, t.Size()), sum: make([]float64, n), own: make([]float64, n), raised: make([]float64, n), gap: make([]float64, d), around: make([]float64, d),
		glide: newGlide(d),
	}
}

// ErrImproper means that a record's cavity is not proper.
var ErrImproper = errors.New("the cavity is not a proper distribution")

// begin sets f.around to the mean of outer, the prior times the other clients' factors. Before the
// first step it also sets f.start to zero or, with the option StartMean, to the factor from place.
func (f *tied) begin(outer []float64) error {
	copy(f.cavity.Natural, outer)
	if !f.cavity.solve() {
		return ErrImproper
	}
	copy(f.around, f.cavity.Mean)
	if f.start != nil {
		return nil
	}
	f.start = make([]float64, len(f.used))
	if f.options.StartMean != nil {
		f.place(outer, len(f.cavity.Mean))
	}
	f.restart()
	return nil
}

func (f *tied) restart() {
	copy(f.used, f.start)
	copy(f.raw, f.start)
	f.rest, f.noise, f.since = 1, 0, 0
	clear(f.glide.velocity)
}

// place sets f.start to a factor with which q starts at the mean StartMean, with sds of at most
// StartSD. outer is the prior times the other clients' factors.
func (f *tied) place(outer []float64, d int) {
	for k, at := range f.cavity.entries {
		if at[0] == at[1] {
			f.start[d+k] = max(0, 1/(f.options.StartSD*f.options.StartSD)-1/f.cavity.Variance[at[0]])
		}
	}
	// Let Λ and h be the precision and the precision times mean of outer, and S the precision of
	// f.start. q has the mean StartMean if the precision times mean of f.start is (Λ + S)·StartMean
	// − h.
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

// prepare sets the cavity for the next step: outer times the factor, without one record's share of
// it (see the options Power and Nominal). outer is the prior times the other clients' factors.
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

// centre moves the origin of natural parameters, in place: from zero to the cavity's mean with sign
// −1, and back with sign 1.
func (f *tied) centre(natural []float64, sign float64) {
	for i := range f.cavity.Mean {
		f.cavity.Mean[i] *= sign
	}
	shift(natural, f.cavity.Mean, f.cavity.entries)
	for i := range f.cavity.Mean {
		f.cavity.Mean[i] *= sign
	}
}

// sites writes the contributions of the records to dst, one record after another.
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

// relate replaces a record's site by its contribution to the sum, as the options Deviation and Raw
// define it.
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

// move updates the factor with total, the sum of a batch's contributions, and overwrites total. The
// precisions are averaged separately, so that their noise does not move q's mean.
func (f *tied) move(total []float64) {
	for i := range total {
		total[i] /= f.options.Rate
	}
	f.tilted.Expand(f.sum, total)
	share, d := f.options.share(f.since), len(f.around)
	f.rest *= 1 - share
	f.noise = (1-share)*(1-share)*f.noise + share*share
	f.taken++
	f.since++
	if f.options.Published {
		f.moveAsPublished(share)
		return
	}
	if f.options.Raw {
		f.centre(f.sum, -1)
	}
	if p, ok := f.tilted.(Public); ok {
		p.AddPublic(f.sum)
	}
	copy(f.own, f.used)
	f.centre(f.own, -1)
	if f.options.Deviation {
		for i, x := range f.own {
			f.sum[i] += x
		}
	}
	for k, x := range f.raw[d:] {
		f.raw[d+k] += share * (f.sum[d+k] - x)
		f.sum[d+k] = f.raw[d+k]
	}
	f.pull()
	moving := f.options.moving(f.since - 1)
	for i, x := range f.own[:d] {
		f.sum[i] = x + moving*(f.sum[i]-x)
	}
	moves := f.proper.raise(f.sum, f.floor()) || f.options.Improper == study.Project
	if f.options.glides() {
		f.step(moves)
	}
	if moves {
		copy(f.used, f.sum)
		f.centre(f.used, 1)
	}
	f.reseat()
}

// pull corrects f.sum where the noise floor raises the precisions: the added precision gets the
// mean f.around. Otherwise a client whose records have no information would move q's mean. With a
// full covariance the floor is so high that the added precision would outweigh the records, so pull
// does nothing.
func (f *tied) pull() {
	d, floor := len(f.around), f.floor()
	if floor == 0 || f.cavity.Covariance != nil {
		return
	}
	clear(f.raised[:d])
	copy(f.raised[d:], f.raw[d:])
	f.proper.raise(f.raised, floor)
	for k, x := range f.raw[d:] {
		f.raised[d+k] -= x
	}
	for i, x := range f.cavity.Mean {
		f.gap[i] = f.around[i] - x
	}
	shift(f.raised, f.gap, f.cavity.entries)
	for i, x := range f.raised[:d] {
		f.sum[i] += x
	}
}

// moveAsPublished takes the step of the DP-SEP paper, for a batch of one record. The factor moves
// by the given share of the way to the record's site divided by Rate, and is clipped.
func (f *tied) moveAsPublished(share float64) {
	for i, x := range f.raw {
		towards := f.sum[i]
		if f.options.Deviation {
			towards += f.used[i]
		}
		f.raw[i] += share * (towards - x)
	}
	f.shorten()
	copy(f.sum, f.raw)
	if f.proper.repair(f.sum) || f.options.Improper == study.Project {
		copy(f.used, f.sum)
	}
}

// floor returns the lower bound on the factor's precisions: the sd of the noise in their average,
// times √d with a full covariance, because the spectral norm of a noisy d×d matrix grows like √d.
func (f *tied) floor() float64 {
	reach := 1.0
	if f.cavity.Covariance != nil {
		reach = math.Sqrt(float64(len(f.cavity.Mean)))
	}
	return reach * f.options.PrecisionNoise * math.Sqrt(f.noise)
}

// reseat lets a [Reseater] move a stuck factor. If it does, the average restarts there.
func (f *tied) reseat() {
	r, ok := f.tilted.(Reseater)
	if !ok || f.taken > f.options.Reseat || !r.Reseat(f.used, f.outer, f.options.PrecisionNoise*math.Sqrt(f.noise), f.taken) {
		return
	}
	copy(f.start, f.used)
	f.restart()
}

// shorten clips the factor as in the DP-SEP paper: its norm divided by Nominal becomes at most
// Clip.
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

// leastMoved is a lower bound on 1 − f.rest, by which propose divides. A smaller divisor would
// amplify the noise. After one pass of whole steps it is about 0.6.
const leastMoved = 0.6

// propose writes the factor to dst. Its precision is the average of the released sums, but at least
// the noise floor. Its precision times mean lets q keep its mean or, with the option Glide, take
// the average of its means.
func (f *tied) propose(dst []float64) error {
	copy(dst, f.used)
	if f.options.Published || f.rest == 0 && !f.options.glides() {
		return nil
	}
	for i, x := range dst {
		f.cavity.Natural[i] = f.outer[i] + x
	}
	if !f.cavity.solve() {
		return ErrImproper
	}
	f.centre(dst, -1)
	d, moved := len(f.around), max(1-f.rest, leastMoved)
	for k := d; k < len(dst); k++ {
		dst[k] = (f.raw[k] - f.rest*f.start[k]) / moved
	}
	f.proper.raise(dst, f.floor()/moved)
	f.centre(dst, 1)
	if f.options.glides() {
		f.glide.settle(dst, f.outer)
	}
	return nil
}
