package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// A client votes on how much information it has about each coordinate, relative to synthetic
	// records. The possible ratios are base^-k, for integers k from 0 to places − 1. Each k is called
	// a place and has one element in the votes for the coordinate.
	places = 8
	base   = 4.

	// A client also votes for the centre of each coordinate that has a base. The possible centres are
	// equally spaced from −reach to reach. Regressors of synthetic records that are uniform lie
	// between −√3 and √3.
	centrePlaces = 9
	reach        = 1.7320508075688772 // √3
	centreStep   = 2 * reach / (centrePlaces - 1)

	// finer is the number of grid steps from one place to the next, in the grid for the posterior of a
	// place.
	finer = 8
	// unalike is the standard deviation of the error that the mean votes have because clients differ.
	unalike = .1
)

// The distance of a place from that of synthetic records has one of these prior means. The smallest
// one is for columns whose values have a mean in the middle of their bounds.
var scaleDistances, centreDistances = []float64{.5, 1, 2, 4}, []float64{.05, .5, 1, 2, 4}

// vote writes a client's votes to dst. There is an element for each coordinate and place, and then
// one for each place of the centre of a coordinate. A vote between two places is divided linearly.
// Each of the n votes has norm at most 1/√n, so that all votes together have norm at most 1.
func (q *Query) vote(dst []float64, information *mat.SymDense) {
	d := information.SymmetricDim()
	size := 1 / math.Sqrt(float64(d+centred(q.Bases)))
	centres := dst[places*d:]
	for i := range d {
		own := information.At(i, i)
		if b := baseOf(q.Bases, i); b >= 0 {
			centre := 0.
			if of := information.At(b, b); of != 0 {
				centre = information.At(i, b) / of
			}
			own = math.Max(own-centre*information.At(i, b), 0)
			divide(centres[:centrePlaces], within((centre+reach)/centreStep, 0, centrePlaces-1), size)
			centres = centres[centrePlaces:]
		}
		// A client without information about a coordinate votes for the last place.
		at := within(q.Area.first()-math.Log(own/q.Votes)/math.Log(base), 0, places-1)
		divide(dst[i*places:(i+1)*places], at, size)
	}
}

// baseOf returns the base of coordinate i, or −1.
func baseOf(bases []int, i int) int {
	if bases == nil {
		return -1
	}
	return bases[i]
}

// centred returns the number of coordinates that have a base.
func centred(bases []int) (n int) {
	for _, b := range bases {
		if b >= 0 {
			n++
		}
	}
	return n
}

// divide divides a vote of the given size linearly between the two nearest places. If position is
// NaN, it writes a NaN.
func divide(dst []float64, position, size float64) {
	if math.IsNaN(position) {
		dst[0] = position
		return
	}
	low := min(int(position), len(dst)-2)
	dst[low], dst[low+1] = size*(1-(position-float64(low))), size*(position-float64(low))
}

// A ballot is the posterior of the places that votes of one kind are about.
type ballot struct {
	at      []float64     // grid of places
	given   [][][]float64 // given[e][i] is the posterior of the place of vote i, given that the prior mean is the e-th
	weights []float64     // posterior of the prior mean
}

// count computes the posterior of the places of n votes from the opened sum of the votes.
// Multiplying an element of the sum by size gives a mean vote, whose error has standard deviation
// sd.
//
// The prior of a place decreases exponentially with its distance from first, because a bound is
// more likely to be slightly wrong than very wrong. The prior mean of this distance is the same for
// all votes. It is one of distances, with equal probabilities. The mean vote is modelled as the
// vote of one client at the place, plus the error.
func count(sum []float64, n, places int, first float64, distances []float64, size, sd float64) *ballot {
	b := &ballot{at: make([]float64, (places-1)*finer+1)}
	for k := range b.at {
		b.at[k] = float64(k) / finer
	}
	likelihood := make([][]float64, n)
	for i := range likelihood {
		likelihood[i] = b.likelihood(sum[i*places:(i+1)*places], size, sd)
	}
	evidence, prior := make([]float64, len(distances)), make([]float64, len(b.at))
	b.given = make([][][]float64, len(distances))
	for e, m := range distances {
		for k, x := range b.at {
			prior[k] = -math.Abs(x-first) / m
		}
		floats.AddConst(-floats.LogSumExp(prior), prior)
		for _, l := range likelihood {
			logs := slices.Clone(l)
			floats.Add(logs, prior)
			evidence[e] += floats.LogSumExp(logs)
			b.given[e] = append(b.given[e], proportions(logs))
		}
	}
	b.weights = proportions(evidence)
	return b
}

// likelihood returns the log likelihood of a place at each point of the grid (see [count]).
func (b *ballot) likelihood(sum []float64, size, sd float64) []float64 {
	logs, votes := make([]float64, len(b.at)), make([]float64, len(sum))
	for k, at := range b.at {
		clear(votes)
		divide(votes, at, 1)
		for p, v := range votes {
			gap := sum[p]*size - v
			logs[k] -= gap * gap / (2 * sd * sd)
		}
	}
	return logs
}

// of returns the posterior of the place of vote i at each point of the grid.
func (b *ballot) of(i int) []float64 {
	all := make([]float64, len(b.at))
	for e, w := range b.weights {
		floats.AddScaled(all, w, b.given[e][i])
	}
	return all
}

// draw returns a draw of all places.
func (b *ballot) draw(from *source) []float64 {
	e := from.choose(b.weights)
	all := make([]float64, len(b.given[e]))
	for i, p := range b.given[e] {
		all[i] = b.at[from.choose(p)]
	}
	return all
}
