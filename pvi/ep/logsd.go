package ep

import (
	"math"

	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
)

// hermite is the Gauss–Hermite rule that computes the first two moments of a tilted distribution
// along one coordinate. The 32 nodes of the rule give both moments with six digits if the log
// density is concave.
var hermite = quadrature.New(1)

// A spreadRule computes moments for a normal outcome whose log sd u is unknown, by a quadrature
// rule over u. The distribution of u is normal. The outcome is N(centre, e^2u), where the centre is
// also normal and independent of u. The density of the outcome is raised to the exponent power. A
// spreadRule keeps its workspace and is not safe for concurrent use.
type spreadRule struct {
	power     float64
	moves     []float64 // distance of each node of the rule from the mean of u
	variances []float64 // e^2u divided by the power, at each node of the rule
	weights   []float64 // log weights of the nodes
	spreads   []float64 // variance of the outcome at each node, including the variance of the outcome's centre
	logs      []float64 // at each node, the log weight minus half the log of the element of spreads
	shares    []float64 // probability of each node of the rule given the outcome
	uncertain float64
}

func newSpreadRule(power float64) *spreadRule {
	v := func() []float64 { return make([]float64, len(hermite.Weights)) }
	return &spreadRule{power: power, moves: v(), variances: v(), weights: v(), spreads: v(), logs: v(), shares: v()}
}

// set prepares the rule for a normal distribution of u with the given mean and variance: it
// computes moves, variances and weights. The weights contain the factor e^((1−p)u), because raising
// a density to the power p gives, up to a constant,
//
//	N(y; c, e^2u)^p = e^((1−p)u)·N(y; c, e^2u/p).
func (r *spreadRule) set(mean, variance float64) {
	sd := math.Sqrt(variance)
	for n, z := range hermite.Points {
		r.moves[n] = sd * z
		u := mean + sd*z
		r.variances[n] = math.Exp(2*u) / r.power
		r.weights[n] = math.Log(hermite.Weights[n]) + (1-r.power)*u
	}
}

func (r *spreadRule) widen(uncertain float64) {
	r.uncertain = uncertain
	for n, v := range r.variances {
		r.spreads[n] = uncertain + v
	}
	special.LogAll(r.logs, r.spreads)
	for n, w := range r.weights {
		r.logs[n] = w - r.logs[n]/2
	}
}

// outcome computes r.shares, the probability of each node given an outcome. gap is the outcome
// minus the mean of its centre. outcome returns the log density of the outcome. If the power is not
// 1, a constant is missing from the result.
func (r *spreadRule) outcome(gap float64) float64 {
	half, largest := gap*gap/2, math.Inf(-1)
	for n, log := range r.logs {
		r.shares[n] = log - half/r.spreads[n]
		largest = max(largest, r.shares[n])
	}
	for n := range r.shares {
		r.shares[n] -= largest
	}
	special.ExpAll(r.shares, r.shares)
	var total float64
	for _, share := range r.shares {
		total += share
	}
	for n := range r.shares {
		r.shares[n] /= total
	}
	return largest + math.Log(total) - special.HalfLogTwoPi
}

// spread returns the first and second moments of u, given the outcome of the last call to outcome.
// The moments are about the mean that u has before the outcome is known.
func (r *spreadRule) spread() (first, second float64) {
	for n, share := range r.shares {
		first += share * r.moves[n]
		second += share * r.moves[n] * r.moves[n]
	}
	return first, second
}

// centre returns the first and second moments of the centre, given the outcome. The moments are
// about the mean that the centre has before the outcome is known. gap must be the same as in the
// last call to outcome.
func (r *spreadRule) centre(gap float64) (first, second float64) {
	for n, share := range r.shares {
		gain := r.uncertain / r.spreads[n]
		move := gain * gap
		first += share * move
		second += share * (r.uncertain*(1-gain) + move*move)
	}
	return first, second
}
