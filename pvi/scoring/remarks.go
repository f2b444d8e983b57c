package scoring

import (
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Clipped returns the number of records whose score was longer than the clip in the last round of
// scores, and the sd of the noise in that number. It returns false before the first round.
func (s *State) Clipped() (records, sd float64, ok bool) {
	return s.clipped, s.clippedSD, len(s.path) > 0
}

// arrivedLevel is the probability that an arrived study is said not to have arrived.
const arrivedLevel = 0.001

// Arrived reports whether the last sum of scores is what the posterior's mean lets expect. If not,
// the points were still moving, the model does not fit, or clipping bends the sums. It returns
// true before the first round.
func (s *State) Arrived() bool {
	if len(s.path) == 0 {
		return true
	}
	last := &s.path[len(s.path)-1]
	gap := minus(last.sum, apply(s.last, minus(s.posterior.mean, last.theta)))
	spread := plus(term{1, s.last}, term{1, last.noise})
	size := dot(gap, apply(inverse(spread), gap))
	return size <= distuv.ChiSquared{K: float64(s.Dim())}.Quantile(1-arrivedLevel)
}

// meanOf returns the mean of matrices.
func meanOf(draws []*mat.SymDense) *mat.SymDense {
	terms := make([]term, len(draws))
	for i, l := range draws {
		terms[i] = term{1 / float64(len(draws)), l}
	}
	return plus(terms...)
}
