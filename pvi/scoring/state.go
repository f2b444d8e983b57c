package scoring

import (
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/describe"
)

// A State holds the posterior, the margins and the next point, computed from the sums opened so
// far. Apart from caches it never changes. It is safe for concurrent use.
type State struct {
	*Problem
	theta      []float64 // point of the next round
	posterior  mixture   // posterior of θ and of the spreads of effects
	margins    *margins
	madeUp     population
	curvature  curvature
	stretch    stretch
	dispersion dispersion
	path       []observation
	counted    belief            // normal likelihood of the number of records
	summary    *describe.Summary // tables that describe the records; nil before their release
	held       *describe.Scored  // scores of held-out records; nil before their release

	last               *mat.SymDense // curvature behind the posterior
	clipped, clippedSD float64       // estimated number of clipped records in the last round of scores, and its sd

	mu      sync.Mutex
	queries map[int]*Query // queries computed so far, by round
	next    *State         // last result of Step
	after   sum            // sum from which next was computed
}

// A sum is the opened sum of a round, with the number of answers in the sum.
type sum struct {
	round, answers int
	elements       []int64
}

// Begin returns the state before the first round.
func (p *Problem) Begin() *State {
	s := &State{Problem: p, theta: slices.Clone(p.mean), margins: p.newMargins()}
	s.madeUp = s.margins.madeUp()
	spread := recordsSD * p.nominal
	s.counted.learn(p.nominal, spread*spread)
	s.curvature = curvature{seen: plus(term{1, diagonal(p.Dim(), func(int) float64 { return 1 })}), variance: firstVariance}
	s.posterior.mean, s.posterior.cov = p.prior.Moments()
	return s
}

// Posterior returns the mean and the covariance of the study's θ given all sums so far.
func (s *State) Posterior() (mean []float64, cov *mat.SymDense) {
	mean, cov = make([]float64, len(s.order)), mat.NewSymDense(len(s.order), nil)
	for i, at := range s.order {
		mean[at] = s.posterior.mean[i]
		for j, with := range s.order[:i+1] {
			cov.SetSym(at, with, s.posterior.cov.At(i, j))
		}
	}
	return mean, cov
}

// located returns the posterior moments of the coordinates on which records depend.
func (s *State) located() ([]float64, *mat.SymDense) {
	d := s.Dim()
	return s.posterior.mean[:d], s.posterior.cov.SliceSym(0, d).(*mat.SymDense)
}

// ridge returns how strongly the prior counts in the units of scores ([State.ridged]), as a number
// of records. It is larger if the margins are noisy and the curvature is uncertain.
func (s *State) ridge() float64 { return max(1, 0.1*s.margins.sd()) }

// A Query defines the vector that a record contributes to the sum of a round. It contains only
// public numbers.
type Query struct {
	*Problem
	round          int
	theta          []float64
	sizes          [blocks]int
	scales         [blocks]float64 // largest norm of each block of a record's vector
	clips          [blocks]float64
	units          *mat.TriDense // units of the scores (see [State.ridged])
	curvatureUnits *mat.TriDense
	white          whitening // of units
	curvatureWhite whitening // of curvatureUnits
	margins        *margins
	predictive     predictive // posterior that scores held-out records; empty in other rounds
	norms          []float64  // sorted norms of made-up scores
}

// Query returns the query of a round, counted from 1.
func (s *State) Query(round int) (*Query, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queryOf(round)
}

// queryOf is Query for a caller that holds the lock.
func (s *State) queryOf(round int) (*Query, error) {
	if q, ok := s.queries[round]; ok {
		return q, nil
	}
	q, err := total(func() *Query { return s.newQuery(round) })
	if err != nil {
		return nil, err
	}
	if s.queries == nil {
		s.queries = map[int]*Query{}
	}
	s.queries[round] = q
	return q, nil
}

// total turns a panic of f with notFinite into an error.
func total[T any](f func() T) (result T, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(notFinite); !ok {
				panic(r)
			}
			err = errors.New("scoring: the numbers of the posterior overflow")
		}
	}()
	return f(), nil
}

// firstClips multiplies the clips of the first two rounds, when little is known about norms.
const firstClips = 1.5

// leastClip is the smallest clip. Below it, the squared norm of a block could underflow, and the
// clipped block would be too long. Only a posterior about to overflow needs it.
const leastClip = 1e-60

func (s *State) newQuery(round int) *Query {
	q := &Query{Problem: s.Problem, round: round, theta: s.theta, sizes: s.sizes(round), margins: s.margins}
	shares := s.budget.shares[round-1]
	for b, share := range shares {
		q.scales[b] = math.Sqrt(share / s.budget.largest)
	}
	q.clips[lengthBlock], q.clips[residualBlock] = 1, dispersionClip
	if q.sizes[scoreBlock] > 0 {
		q.units = s.ridged(s.lambda(s.theta), s.ridge())
		q.white = newWhitening(q.units)
		_, cov := s.located()
		q.clips[scoreBlock], q.norms = s.chooseClip(s.madeUp, s.theta, s.ridge(), cov)
		q.clips[scoreBlock] *= s.stretch.factor()
		if round <= 2 {
			q.clips[scoreBlock] *= firstClips
		}
	}
	if q.sizes[marginBlock] > 0 {
		q.clips[marginBlock] = s.marginClip()
	}
	if q.sizes[tableBlock] > 0 {
		q.clips[tableBlock] = s.tables.Norm()
	}
	if q.sizes[predictiveBlock] > 0 {
		q.clips[predictiveBlock] = s.compared.scores.Norm()
		q.predictive = s.predictive()
	}
	if q.sizes[curvatureBlock] > 0 {
		lambda := s.lambda(s.theta)
		ridge := s.curvatureRidge(lambda, shares[curvatureBlock])
		q.curvatureUnits = s.ridged(lambda, ridge)
		q.curvatureWhite = newWhitening(q.curvatureUnits)
		made := cholesky(plus(term{1, s.madeUp.curvature(s.theta)}, term{ridge, s.perRecord()}))
		q.clips[curvatureBlock] = quantile(curvatureNorms(s.madeUp, s.theta, made), 0.99)
	}
	for b, clip := range q.clips {
		if !(clip <= math.MaxFloat64) {
			panic(notFinite{})
		}
		q.clips[b] = max(clip, leastClip)
	}
	return q
}

// marginClip returns the clip for the part of a record's vector from which margins are learned. It
// is the 98 % quantile of the norms over made-up records.
func (s *State) marginClip() float64 {
	norms, elements := make([]float64, madeUpRecords), make([]float64, s.marginSize())
	for i := range norms {
		s.margins.record(elements, s.madeUp.row(i))
		norms[i] = norm(elements)
	}
	slices.Sort(norms)
	return quantile(norms, 0.98)
}

// Step learns from the opened sum of a round and returns the new state. elements holds the sum over
// the given number of answers in units of step, and sd is the sd of the noise in one answer, in the
// same units. It returns an error if a number in the new state or the next query overflows.
// Otherwise clients would be charged for answers that they cannot compute.
func (s *State) Step(round, answers int, elements []int64, step, sd float64) (*State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil && s.after.round == round && s.after.answers == answers && slices.Equal(s.after.elements, elements) {
		return s.next, nil
	}
	q, err := s.queryOf(round)
	if err != nil {
		return nil, err
	}
	next, err := total(func() *State { return s.step(newOpened(q, answers, elements, step, sd)) })
	if err == nil && !next.posterior.finite() {
		err = errors.New("scoring: the posterior is not finite")
	}
	if err == nil && round < s.Releases() {
		_, err = next.Query(round + 1)
	}
	if err != nil {
		return nil, err
	}
	s.next, s.after = next, sum{round, answers, slices.Clone(elements)}
	return next, nil
}

// An opened holds the blocks of an opened sum, scaled from the answers to all clients.
type opened struct {
	*Query
	values [blocks][]float64
	sd     [blocks]float64 // sd of the noise of an element of each block
	scale  float64         // number of clients divided by the number of answers

	answers int
}

func newOpened(q *Query, answers int, elements []int64, step, sd float64) *opened {
	o := &opened{Query: q, scale: float64(q.Clients) / float64(answers), answers: answers}
	n := 0
	for b, size := range q.sizes {
		if size == 0 {
			continue
		}
		unit := o.scale * step * q.clips[b] / q.scales[b]
		o.sd[b] = unit * sd * math.Sqrt(float64(answers))
		for _, e := range elements[n : n+size] {
			o.values[b] = append(o.values[b], unit*float64(e))
		}
		n += size
	}
	return o
}

func (o *opened) summary() *describe.Summary {
	sums := slices.Clone(o.values[tableBlock])
	for i := range sums {
		sums[i] /= o.scale
	}
	return o.tables.Summary(sums, o.sd[tableBlock]/o.scale, o.answers, tableLevel)
}

// tableLevel is the level of the intervals in the tables.
const tableLevel = 0.95

// Tables returns the tables that describe the records, or nil if none were released.
func (s *State) Tables() *describe.Summary { return s.summary }

func (s *State) step(o *opened) *State {
	next := &State{
		Problem: s.Problem, theta: s.theta, posterior: s.posterior, margins: s.margins, madeUp: s.madeUp,
		curvature: s.curvature, stretch: s.stretch, dispersion: s.dispersion, path: s.path, counted: s.counted,
		last: s.last, clipped: s.clipped, clippedSD: s.clippedSD, summary: s.summary,
	}
	if o.sizes[predictiveBlock] > 0 {
		next.held = o.scored()
		return next
	}
	if o.sizes[tableBlock] > 0 {
		next.summary = o.summary()
	}
	if o.sizes[marginBlock] > 0 {
		next.count(o.values[lengthBlock], o.sd[lengthBlock])
		next.margins = next.margins.learned(o.values[marginBlock], o.sd[marginBlock])
		next.madeUp = next.margins.madeUp()
	}
	if o.sizes[curvatureBlock] > 0 {
		released := &releasedCurvature{
			at: s.theta, units: o.curvatureUnits, sd: o.sd[curvatureBlock],
			k: unpack(o.values[curvatureBlock], s.Dim(), 1),
		}
		if o.round == s.Rounds {
			next.finish(released)
			return next
		}
		next.curvature = next.learnCurvature(released)
	}
	if o.sizes[scoreBlock] > 0 {
		next.takeScores(o)
	}
	if o.round == 1 {
		if start := next.madeUp.start(next.margins); start != nil {
			// Drop the first scores: they were computed at the prior mean, which may be far from
			// the start.
			next.theta, next.path = start, nil
		}
	}
	if o.sizes[residualBlock] > 0 {
		_, cov := s.located()
		shrunk, _ := s.unsure(s.madeUp, s.theta, cov)
		next.dispersion = s.dispersion.learned(s.madeUp.(*madeUp), s.theta, shrunk, o.values[residualBlock][0], o.sd[residualBlock])
		next.madeUp = next.madeUp.(*madeUp).with(next.dispersion.quantile(0.5))
	}
	return next
}

// recordsSD is the prior sd of the number of records, relative to the nominal number.
const recordsSD = 0.5

// count updates the number of records by noisy counts of norms, which add up to it.
func (s *State) count(counts []float64, sd float64) {
	p := *s.Problem
	var total float64
	for _, n := range counts {
		total += n
	}
	s.counted.learn(total, float64(lengths)*sd*sd)
	p.Records = max(s.counted.linear/s.counted.precision, p.nominal/100, 1)
	s.Problem = &p
	margins := *s.margins
	margins.Problem = &p
	s.margins = &margins
}

// farthest is the largest change of a coordinate in a step, in prior sds. The curvature changes on
// the way: with overdispersed counts, the first sum of scores would move the log dispersion by
// fifteen sds.
const farthest = 1

// takeScores adds the sum o to s.path, and computes the posterior and the next point.
func (s *State) takeScores(o *opened) {
	lambda := s.lambda(s.theta)
	sd := o.sd[scoreBlock]
	noise := term{sd * sd, congruent(o.units, nil)}
	now := observation{
		theta: s.theta, units: o.units, clip: o.clips[scoreBlock],
		sum: apply(o.units, o.values[scoreBlock]),
		// The scores of clients that did not answer are unknown. Their variance is added to the
		// noise.
		noise: plus(noise, term{o.scale - 1, lambda}),
	}
	s.path = append(slices.Clone(s.path), now)
	made := s.sampleAt(s.madeUp, s.theta, s.ridge(), nil)
	if len(s.path) > 1 {
		s.curvature = s.learnSecant(made)
		lambda = s.lambda(s.theta)
	}
	s.posterior, s.last = s.observe(s.path, s.theta, []*mat.SymDense{lambda}, made), lambda
	progress := float64(o.round-1) / float64(max(1, s.Rounds-2))
	length := 0.5 + 0.2*progress
	mean, _ := s.located()
	move := minus(mean, s.theta)
	if !s.linear {
		for i, x := range move {
			length = min(length, farthest*s.sd[i]/math.Abs(x))
		}
	}
	s.theta = slices.Clone(s.theta)
	for i, x := range move {
		s.theta[i] += length * x
	}
	s.clipped, s.clippedSD = 0, o.sd[lengthBlock]*math.Sqrt(float64(lengths-2))
	for _, n := range o.values[lengthBlock][2:] {
		s.clipped += n
	}
	// unnoticed is the number of unexpectedly clipped records that change a sum by about as much as
	// the noise, if all their scores have the same direction. More would bias the fit and must be
	// noticed, so slack is at most that.
	unnoticed := math.Sqrt(float64(s.Dim())) * s.NoiseSD
	slack := min(stretchSlack*s.Records, unnoticed)
	s.stretch = s.stretch.learned(o.norms, o.values[lengthBlock], o.clips[scoreBlock], o.sd[lengthBlock], slack, s.Records)
}

// finish computes the final posterior from the released curvature r and the last three quarters of
// the sums.
func (s *State) finish(r *releasedCurvature) {
	if len(s.path) > 0 {
		draws := s.drawCurvatures(r)
		made := s.sampleAt(s.madeUp, s.theta, s.ridge(), nil)
		s.posterior, s.last = s.observe(s.path[len(s.path)/4:], s.theta, draws, made), meanOf(draws)
	}
}
