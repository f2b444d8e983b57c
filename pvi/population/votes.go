package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// A client votes for the ratio of its information about each coordinate to that of synthetic
	// records. The possible ratios are base^-k. The integer k from 0 to places − 1 is called a
	// place, and has one element of the votes for the coordinate.
	places = 8
	base   = 4.

	// finer is the number of grid steps between places, for the posterior of a coordinate's place.
	finer = 8
	// unalike is the sd of the error in the mean votes because clients differ.
	unalike = .1
)

// expected lists the possible prior means of a coordinate's place.
var expected = []float64{.5, 1, 2, 4}

// vote writes a client's votes to dst, an element for each coordinate and place. A vote between two
// places is divided linearly. The elements of a coordinate have norm at most 1/√d, so all votes
// have norm at most 1.
func (q *Query) vote(dst []float64, information *mat.SymDense) {
	d := information.SymmetricDim()
	for i := range d {
		// A client without information about a coordinate votes for the last place.
		at := within(q.Area.first()-math.Log(information.At(i, i)/q.Votes)/math.Log(base), 0, places-1)
		divide(dst[i*places:(i+1)*places], at, 1/math.Sqrt(float64(d)))
	}
}

// divide divides a vote of the given size linearly between two places. For NaN it writes a NaN.
func divide(dst []float64, position, size float64) {
	if math.IsNaN(position) {
		dst[0] = position
		return
	}
	low := min(int(position), len(dst)-2)
	dst[low], dst[low+1] = size*(1-(position-float64(low))), size*(position-float64(low))
}

// A scale is a typical client's information in each coordinate, relative to synthetic records.
type scale []float64

// drawScales returns the posterior of the [scale] given sum, the opened sum of votes. mean holds
// its geometric mean in each coordinate, and draws are divided by mean.
//
// A coordinate's place is the vote of a typical client. Its prior is exponential, because a bound
// is more likely to be slightly too wide than much too wide. All coordinates have the same prior
// mean, one of expected with equal probabilities. The model for the mean vote is the vote of one
// client at the coordinate's place, plus noise, plus an error because clients differ.
func (r *rules) drawScales(answers int, sum []float64) (draws []scale, mean scale) {
	clients := r.Weights[0] * float64(answers)
	size, first := math.Sqrt(float64(r.dim))/clients, r.Area.first()
	if r.Area != nil {
		size *= math.Sqrt2
	}
	sd := math.Hypot(size*r.Noise*math.Sqrt(float64(answers)), unalike)
	at := make([]float64, (places-1)*finer+1)
	likelihood := make([][]float64, r.dim)
	votes := make([]float64, places)
	for i := range likelihood {
		likelihood[i] = make([]float64, len(at))
		for k := range at {
			at[k] = float64(k) / finer
			clear(votes)
			divide(votes, at[k], 1)
			for p, v := range votes {
				gap := sum[i*places+p]*size - v
				likelihood[i][k] -= gap * gap / (2 * sd * sd)
			}
		}
	}
	// given[e][i] is the posterior of the place of coordinate i if the prior mean is expected[e].
	given, evidence := make([][][]float64, len(expected)), make([]float64, len(expected))
	for e, m := range expected {
		given[e] = make([][]float64, r.dim)
		for i, l := range likelihood {
			logs := make([]float64, len(at))
			for k := range logs {
				logs[k] = l[k] - math.Abs(at[k]-first)/m
			}
			evidence[e] += floats.LogSumExp(logs) - math.Log(m)
			given[e][i] = proportions(logs)
		}
	}
	weights := proportions(evidence)
	mean = make(scale, r.dim)
	for e, w := range weights {
		for i := range mean {
			for k, p := range given[e][i] {
				mean[i] += w * p * at[k]
			}
		}
	}
	n := r.scaleDraws()
	from := r.normals(1, n*(r.dim+1))
	for range n {
		e, s := from.choose(weights), make(scale, r.dim)
		for i := range s {
			s[i] = math.Pow(base, mean[i]-at[from.choose(given[e][i])])
		}
		draws = append(draws, s)
	}
	for i, x := range mean {
		mean[i] = math.Pow(base, first-x)
	}
	return draws, mean
}

// scaleDraws returns the number of draws of the scale, from 1 to 60. The time of each is
// proportional to the sixth power of the dimension.
func (r *rules) scaleDraws() int {
	size := float64(packedSize(r.dim))
	return int(within(2e7/(size*size*size), 1, 60))
}
