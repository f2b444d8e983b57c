package scoring

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// secantVariances are the possible variances of G ([curvature]) along a secant, the step between
// the points of two sums. The largest allow for a curvature many times the guess, as with
// correlated columns.
var secantVariances = [...]float64{.06, .25, 1, 4, 16, 64, 256}

// leastSecant is the smallest ratio of the learned curvature along a secant to the expected one.
// Noise can give the difference of two sums the wrong sign, which would make the curvature
// indefinite. Also, the score of a scale changes little while the scale is much too large. A secant
// there would suggest a step of many times the distance to the mode.
const leastSecant = 0.5

// learnSecant improves the estimate of the curvature by the difference of the last two sums of
// scores. made has the scores of made-up records at the point of the last sum. The symbols are:
//
//   - s is the step between the points of the two sums.
//   - y is the true curvature times s. The first sum minus the second is y plus noise.
//   - z = Λs is the prior mean of y. The prior covariance of y is ½v(zzᵀ + zᵀs Λ), where v is the
//     variance of G (see [curvature]).
//
// The expected difference is computed from made-up scores at both points ([State.released]), and
// only the rest changes Λ. learnSecant computes the posterior mean of y and updates Λ by the
// formula of Broyden, Fletcher, Goldfarb and Shanno (Nocedal and Wright, "Numerical Optimization"
// (2006), equation 6.19), which keeps Λ positive definite. If noise hides the difference, the
// posterior mean of y is z and Λ does not change.
func (s *State) learnSecant(made *sample) curvature {
	last, now := &s.path[len(s.path)-2], &s.path[len(s.path)-1]
	step, lambda := minus(now.theta, last.theta), s.lambda(now.theta)
	z := apply(lambda, step)
	expected := dot(z, step)
	if !(expected > 0) {
		return s.curvature
	}
	noise := plus(term{1, last.noise}, term{1, now.noise}, term{1, made.uncertainty(last, s.Records)}, term{1, made.uncertainty(now, s.Records)})
	before, _ := s.released(last, now.theta, lambda)
	after, _ := s.released(now, now.theta, lambda)
	surprise := minus(minus(last.sum, before), minus(now.sum, after))
	y := learnedSecant(surprise, z, expected, lambda, noise)
	root := solved(s.guess(now.theta)(nil))
	return curvature{seen: congruent(root, secantUpdate(lambda, step, z, y)), variance: s.curvature.variance}
}

// secantUpdate corrects the curvature lambda so that its product with step is y. z is lambda·step.
// If y has too little curvature along the step (see leastSecant), a mixture of y and z takes its
// place.
func secantUpdate(lambda *mat.SymDense, step, z, y []float64) *mat.SymDense {
	expected := dot(z, step)
	if along := dot(y, step); along < leastSecant*expected {
		share := (1 - leastSecant) * expected / (expected - along)
		mixed := make([]float64, len(y))
		for i := range y {
			mixed[i] = share*y[i] + (1-share)*z[i]
		}
		y = mixed
	}
	return plus(term{1, lambda}, term{-1 / expected, outer(z)}, term{1 / dot(y, step), outer(y)})
}

// learnedSecant returns the posterior mean of y, the true curvature times the step s between two
// points, with the prior of [State.learnSecant]. surprise is the difference of the two sums minus
// the expected one, and noise is its covariance. z is Λs, expected is sᵀΛs, and lambda is Λ. The
// variance of G is the most probable of secantVariances, under a lognormal prior with median
// firstVariance.
func learnedSecant(surprise, z []float64, expected float64, lambda, noise *mat.SymDense) []float64 {
	best := math.Inf(-1)
	var y []float64
	for _, v := range secantVariances {
		covariance := plus(term{1, noise}, term{v / 2, outer(z)}, term{v / 2 * expected, lambda})
		root := cholesky(covariance)
		weighed := solve(root, surprise)
		x := (math.Log(v) - math.Log(firstVariance)) / 1.5
		log := -(x*x + dot(surprise, weighed)) / 2
		for i := range z {
			log -= math.Log(root.At(i, i))
		}
		if log <= best {
			continue
		}
		best, y = log, make([]float64, len(z))
		along, across := dot(z, weighed), apply(lambda, weighed)
		for i := range y {
			y[i] = z[i] + v/2*(along*z[i]+expected*across[i])
		}
	}
	return y
}
