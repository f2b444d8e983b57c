package ep

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/solver"
)

// A hiddenUnit computes the means of tanh z and tanh² z for a normal input z, with derivatives. It
// uses the trapezoid rule over the real line, which converges fast for smooth functions. The rule
// still works if tanh rises from −1 to 1 within a small fraction of an sd of z.
type hiddenUnit struct {
	first, second unitMoment // moments of tanh z and of tanh² z
	nodes, values []float64
}

// A unitMoment is the expectation E f(z) of a function of the normal input z, with its derivatives
// in the mean and the variance of z: E f′(z) (Bonnet's theorem) and E f″(z)/2 (Price's theorem).
type unitMoment struct{ value, inMean, inVariance float64 }

// The trapezoid rule has a node at 0 and unitNodes on each side, up to unitReach sds of z. Five
// digits are correct if the sd of z is at most five.
const unitNodes, unitReach = 48, 6.5

// unitRule holds the nodes, in sds of z, and their weights.
var unitRule = func() (rule struct{ points, weights [2*unitNodes + 1]float64 }) {
	var total float64
	for n := range rule.points {
		z := unitReach * float64(n-unitNodes) / unitNodes
		rule.points[n], rule.weights[n] = z, math.Exp(-z*z/2)
		total += rule.weights[n]
	}
	for n := range rule.weights {
		rule.weights[n] /= total
	}
	return rule
}()

func newHiddenUnit() *hiddenUnit {
	return &hiddenUnit{nodes: make([]float64, 2*unitNodes+1), values: make([]float64, 2*unitNodes+1)}
}

func (u *hiddenUnit) run(mean, variance float64) {
	sd := math.Sqrt(variance)
	for n, z := range unitRule.points {
		u.nodes[n] = mean + sd*z
	}
	special.TanhAll(u.values, u.nodes)
	u.first, u.second = unitMoment{}, unitMoment{}
	for n, w := range unitRule.weights {
		f := u.values[n]
		slope := 1 - f*f
		u.first.value += w * f
		u.first.inMean += w * slope
		u.first.inVariance -= w * f * slope
		u.second.value += w * f * f
		u.second.inMean += w * 2 * f * slope
		u.second.inVariance += w * slope * (1 - 3*f*f)
	}
}

func (u *hiddenUnit) variance() float64 {
	return max(0, u.second.value-u.first.value*u.first.value)
}

// A binaryOutcome is an outcome that is 0 or 1 and has log odds η.
type binaryOutcome struct{ *tilt }

func (binaryOutcome) set(*solver.Approximation) {}

// slopes implements networkOutcome. Let m and s be the mean and variance of η. Z is the likelihood
// smoothed with a Gaussian of variance s, so
//
//	∂Z/∂s = ½·∂²Z/∂m².
//
// Therefore ∂log Z/∂s = (g² − h)/2, where g = ∂log Z/∂m and h = −∂²log Z/∂m².
func (o binaryOutcome) slopes(y, mean, variance float64) (inMean, inVariance float64) {
	g, h := o.tilt.slopes(y, mean, variance)
	return g, (g*g - h) / 2
}

func (binaryOutcome) beside() (i int, first, second float64) { return -1, 0, 0 }

// A normalOutcome is η plus normal noise with an unknown sd. place is the index of its log in θ.
type normalOutcome struct {
	rule  *spreadRule
	place int
}

func (o *normalOutcome) set(cavity *solver.Approximation) {
	o.rule.set(cavity.Mean[o.place], cavity.Variance[o.place])
}

func (o *normalOutcome) slopes(y, mean, variance float64) (inMean, inVariance float64) {
	o.rule.widen(variance)
	gap := y - mean
	o.rule.outcome(gap)
	for n, share := range o.rule.shares {
		pull := gap / o.rule.spreads[n]
		inMean += share * pull
		inVariance += share * (pull*pull - 1/o.rule.spreads[n]) / 2
	}
	return inMean, inVariance
}

func (o *normalOutcome) beside() (i int, first, second float64) {
	first, second = o.rule.spread()
	return o.place, first, second
}
