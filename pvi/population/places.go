package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

const (
	// In a study with an [Area], a client votes for the place of the mode of its own records. For
	// each coordinate there are modePlaces evenly spaced places, from modeReach prior sds below the
	// prior mean to modeReach prior sds above it.
	modePlaces = 24
	modeReach  = 3.

	// modesVoting replaces the constant voting in a study with an [Area].
	modesVoting = .16

	// A client's information in a study with an [Area] is computed at the client's own mode. It may
	// therefore be up to base^richest times the information of a client with synthetic records.
	richest = 3

	// nearest limits the point θ_t of a later round: no element is further from the mean of the
	// [beginning] than nearest times the sd of the beginning.
	nearest = 3.

	// modesUnlike is the sd of the error in the votes, averaged over clients, that is not due to
	// noise.
	modesUnlike = .05
)

// modeSpreads are the possible sds of the modes of clients, in places.
var modeSpreads = []float64{.2, .5, 1, 2, 4, 8}

// An Area is the region in which the posterior may lie. It is described by the prior mean and the
// prior sd of each coordinate, in public units.
type Area struct{ Mean, SD []float64 }

// SizeWithModes does the same as [Size] for a study with an [Area].
func SizeWithModes(d int) int { return max(Size(d), (places+modePlaces)*d) }

// WeightsWithModes does the same as [Weights] for a study with an [Area].
func WeightsWithModes(rounds int) []float64 { return weights(rounds, modesVoting) }

// first returns the place that stands for the information of a client with synthetic records.
func (a *Area) first() float64 {
	if a == nil {
		return 0
	}
	return richest
}

// at returns the position of x, the value of coordinate i, among the places. The first place is 0.
func (a *Area) at(i int, x float64) float64 {
	return within((x-a.Mean[i])/a.SD[i]/modeReach+1, 0, 2) * (modePlaces - 1) / 2
}

// VoteWithMode writes a client's votes to dst: votes for the scale of its information (see
// [Query.vote]), and then votes for the place of its mode. Both parts have norm at most 1/√2, so
// that the norm of all votes is at most 1. The arguments are in public units.
func (q *Query) VoteWithMode(dst, mode []float64, information *mat.SymDense) {
	clear(dst)
	d := len(mode)
	q.vote(dst, information)
	floats.Scale(math.Sqrt(.5), dst)
	for i, x := range mode {
		divide(dst[places*d+i*modePlaces:][:modePlaces], q.Area.at(i, x), math.Sqrt(.5/float64(d)))
	}
	if !special.Finite(dst) {
		clear(dst)
	}
}

// A beginning holds the posterior means and sds of the mode of a typical client's records, in the
// units of the state. The point and the clip of the second round follow from it.
type beginning struct{ mean, sd []float64 }

// begin returns the beginning given the opened sum of votes.
func (r *rules) begin(answers int, sum []float64) *beginning {
	clients := r.Weights[0] * float64(answers)
	size := math.Sqrt(2*float64(r.dim)) / clients
	sd := math.Hypot(size*r.Noise*math.Sqrt(float64(answers)), modesUnlike)
	b := &beginning{make([]float64, r.dim), make([]float64, r.dim)}
	place := 2 * modeReach / (modePlaces - 1) // distance of two places in prior sds
	for i := range r.dim {
		votes := sum[places*r.dim+i*modePlaces:][:modePlaces]
		mean, variance := posteriorPlace(votes, size, sd)
		b.mean[i] = r.Area.Mean[i] + (mean*place-modeReach)*r.Area.SD[i]
		b.sd[i] = math.Sqrt(variance+.25*.25) * place * r.Area.SD[i]
	}
	return b
}

// posteriorPlace returns the posterior mean and variance of the place of a typical client in one
// coordinate. votes holds the opened sum of the votes for this coordinate, and size times an
// element of votes is a mean vote with noise of the given sd. In the model, the modes of clients
// are normal around this place, with one of the sds in modeSpreads. The place has the same prior as
// the coordinate.
func posteriorPlace(votes []float64, size, sd float64) (mean, variance float64) {
	const finer = 4
	var at, logs []float64
	expected := make([]float64, modePlaces)
	for _, spread := range modeSpreads {
		for k := range (modePlaces-1)*finer + 1 {
			centre := float64(k) / finer
			expectedVotes(expected, centre, spread)
			z := (centre/(modePlaces-1)*2 - 1) * modeReach
			log := -z * z / 2
			for p, v := range expected {
				gap := votes[p]*size - v
				log -= gap * gap / (2 * sd * sd)
			}
			at, logs = append(at, centre), append(logs, log)
		}
	}
	for i, w := range proportions(logs) {
		mean += w * at[i]
	}
	for i, w := range logs {
		variance += w * (at[i] - mean) * (at[i] - mean)
	}
	return mean, variance
}

// expectedVotes writes to dst the average votes for one coordinate if modes are normal with the
// given mean and sd, in units of the distance between places.
func expectedVotes(dst []float64, mean, sd float64) {
	clear(dst)
	const n = 16
	one := make([]float64, modePlaces)
	for k := range n {
		z := math.Sqrt2 * math.Erfinv((2*float64(k)+1)/n-1)
		clear(one)
		divide(one, within(mean+sd*z, 0, modePlaces-1), 1./n)
		floats.Add(dst, one)
	}
}
