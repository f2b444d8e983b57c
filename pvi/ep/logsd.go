package ep

import (
	"math"

	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
)

// hermite is the rule for the first two moments of a tilted distribution along one coordinate. Its
// 32 nodes give six digits if the log density is concave.
var hermite = quadrature.New(1)

// A spreadRule computes moments for a normal outcome N(centre, e^2u) whose centre and log sd u are
// independent and normal. It integrates over u by quadrature. The density of the outcome is raised
// to power. A spreadRule is not safe for concurrent use.
type spreadRule struct {
	power     float64
	moves     []float64 // distances of the nodes from the mean of u
	variances []float64 // e^2u divided by the power, at each node
	weights   []float64 // log weights of the nodes
	spreads   []float64 // variance of the outcome at each node, that of the centre included
	logs      []float64 // log weight minus half the log of the variance in spreads
	shares    []float64 // probability of each node given the outcome
	uncertain float64
}

func newSpreadRule(power float64) *spreadRule {
	v := func() []float64 { return make([]float64, len(hermite.Weights)) }
	return &spreadRule{power: power, moves: v(), variances: v(), weights: v(), spreads: v(), logs: v(), shares: v()}
}

// set prepares the rule for a normal distribution of u. The weights contain the factor e^((1−p)u),
// because, up to a constant,
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

// outcome computes r.shares for an outcome that exceeds the mean of its centre by gap. It returns
// the log density of the outcome, up to a constant if the power is not 1.
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

// spread returns the first and second moments of u about its prior mean, given the outcome of the
// last call to outcome.
func (r *spreadRule) spread() (first, second float64) {
	for n, share := range r.shares {
		first += share * r.moves[n]
		second += share * r.moves[n] * r.moves[n]
	}
	return first, second
}

// centre returns the first and second moments of the centre about its prior mean, given the
// outcome. gap must be as in the last call to outcome.
func (r *spreadRule) centre(gap float64) (first, second float64) {
	for n, share := range r.shares {
		gain := r.uncertain / r.spreads[n]
		move := gain * gap
		first += share * move
		second += share * (r.uncertain*(1-gain) + move*move)
	}
	return first, second
}
