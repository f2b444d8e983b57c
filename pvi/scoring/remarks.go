package scoring

import (
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Clipped returns a noisy count of the records whose scores were clipped in the last round of
// scores, and the sd of its noise. ok is false before the first such round.
func (s *State) Clipped() (records, sd float64, ok bool) {
	return s.clipped, s.clippedSD, len(s.path) > 0
}

// arrivedLevel is the probability that Arrived returns false although the rounds have converged.
const arrivedLevel = 0.001

// Arrived reports whether the last sum of scores agrees with the posterior. If not, the points were
// still moving, the model does not fit the records, or clipping changes the sums. It returns true
// before the first sum of scores.
func (s *State) Arrived() bool {
	if len(s.path) == 0 {
		return true
	}
	last := &s.path[len(s.path)-1]
	mean, _ := s.located()
	gap := minus(last.sum, apply(s.last, minus(mean, last.theta)))
	spread := plus(term{1, s.last}, term{1, last.noise})
	size := dot(gap, apply(inverse(spread), gap))
	return size <= distuv.ChiSquared{K: float64(s.Dim())}.Quantile(1-arrivedLevel)
}

func meanOf(draws []*mat.SymDense) *mat.SymDense {
	terms := make([]term, len(draws))
	for i, l := range draws {
		terms[i] = term{1 / float64(len(draws)), l}
	}
	return plus(terms...)
}
