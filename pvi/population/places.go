package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

const (
	// If the study has an [Area], a client votes for the place of the mode of its own records. For
	// each coordinate there are modePlaces evenly spaced places. They extend modeReach prior standard
	// deviations to each side of the prior mean.
	modePlaces = 24
	modeReach  = 3.

	// modesVoting is used instead of the constant voting if the study has an [Area].
	modesVoting = .16

	// richest limits the information that a client may report at its own mode (see [Area]): to
	// base^richest times that of synthetic records.
	richest = 3

	// nearest limits how far each coordinate of θ_t may be from the mean of the [beginning], in
	// standard deviations of the beginning.
	nearest = 3.

	// modesUnlike is the standard deviation of the error in the mean votes that noise does not
	// explain.
	modesUnlike = .05
)

// modeSpreads lists possible standard deviations of the clients' modes, in places.
var modeSpreads = []float64{.2, .5, 1, 2, 4, 8}

// An Area is the region where the posterior may lie. It is given by prior means and standard
// deviations, in public units.
type Area struct{ Mean, SD []float64 }

// SizeWithModes is like [Size], but for a study with an [Area].
func SizeWithModes(d int) int { return max(Size(d, nil), (places+modePlaces)*d) }

// WeightsWithModes is like [Weights], but for a study with an [Area].
func WeightsWithModes(rounds int) []float64 { return weights(rounds, modesVoting) }

// first returns the place that synthetic records would vote for.
func (a *Area) first() float64 {
	if a == nil {
		return 0
	}
	return richest
}

// at returns where the value x of coordinate i lies among the places, which are numbered from 0.
func (a *Area) at(i int, x float64) float64 {
	return within((x-a.Mean[i])/a.SD[i]/modeReach+1, 0, 2) * (modePlaces - 1) / 2
}

// VoteWithMode writes a client's votes to dst. They are votes for the scale of its information
// ([Query.vote]) and for the place of its mode. Both parts have norm at most 1/√2, so that all
// votes together have norm at most 1. The arguments are in public units.
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

// A beginning holds the posterior means and standard deviations of a typical client's mode, in the
// units of the state. The point and the clipping bound of the second round follow from them.
type beginning struct{ mean, sd []float64 }

// begin computes the beginning from the opened sum of votes.
func (r *rules) begin(answers int, sum []float64) *beginning {
	clients := r.Weights[0] * float64(answers)
	size := math.Sqrt(2*float64(r.dim)) / clients
	sd := math.Hypot(size*r.Noise*math.Sqrt(float64(answers)), modesUnlike)
	b := &beginning{make([]float64, r.dim), make([]float64, r.dim)}
	place := 2 * modeReach / (modePlaces - 1) // distance between places in prior standard deviations
	for i := range r.dim {
		votes := sum[places*r.dim+i*modePlaces:][:modePlaces]
		mean, variance := posteriorPlace(votes, size, sd)
		b.mean[i] = r.Area.Mean[i] + (mean*place-modeReach)*r.Area.SD[i]
		b.sd[i] = math.Sqrt(variance+.25*.25) * place * r.Area.SD[i]
	}
	return b
}

// posteriorPlace returns the posterior mean and variance of a typical client's place in one
// coordinate. votes holds the opened sum of the votes for that coordinate. Multiplying it by size
// gives the mean vote, with noise of standard deviation sd. The clients' modes are assumed to be
// normal around the place, with one of modeSpreads as standard deviation.
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

// expectedVotes writes the average votes for one coordinate to dst. It assumes that modes are
// normal, with the given mean and standard deviation in places.
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
