package ep

import (
	"math"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Network is a neural network with one hidden layer, η = v·tanh(Wx + b) + c, together with its
// records. θ is W by rows, b, v, c and, for a real outcome, the log sd of its noise.
//
// Sites are found by assumed-density filtering. Under a diagonal cavity the inputs Wx + b of the
// units are independent normals, so the mean and variance of η are sums of integrals over one input
// each. The filter assumes that η is normal. Let m be the cavity's mean of a coordinate, s its
// variance, and Z(m, s) the expected likelihood of the record. The tilted moments of the coordinate
// are
//
//	mean = m + s·∂log Z/∂m
//	variance = s − s²·((∂log Z/∂m)² − 2·∂log Z/∂s)
//
// (Minka 2001; Hernández-Lobato and Adams, "Probabilistic Backpropagation for Scalable Learning of
// Bayesian Neural Networks", 2015, equations 5 and 6, there for rectified linear units).
type Network struct {
	weighted
	hidden, inputs int
	x, y           []float64 // inputs and outcomes, record after record
	power          float64
	outcome        networkOutcome

	units []*hiddenUnit
	moves []float64 // derivative of log Z in the mean of each coordinate
	bends []float64 // derivative of log Z in the variance of each coordinate
}

// A networkOutcome computes the likelihood of an outcome given η. Z is the expected likelihood, as
// in [Network].
type networkOutcome interface {
	// set sets the cavity for later calls to slopes.
	set(cavity *solver.Approximation)

	// slopes returns the derivatives of log Z in the mean and variance of η under the cavity, for
	// the outcome y.
	slopes(y, mean, variance float64) (inMean, inVariance float64)

	// beside returns the index i of a coordinate of θ on which the outcome depends directly, such
	// as the log sd of the noise, or −1. first and second are the tilted moments of this coordinate
	// about the cavity's mean, for the last call to slopes.
	beside() (i int, first, second float64)
}

// NewNetwork returns a Network in a diagonal family with the given number of hidden units. The rows
// of x are the inputs of the records. If binary is true, an outcome in y is 0 or 1 with log odds η,
// and otherwise normal with mean η. The likelihood is raised to power, in (0, 1], and the natural
// parameters of sites are divided by it. In sites, precisions are multiplied by weight.
func NewNetwork(hidden int, x, y []float64, inputs int, binary bool, power, weight float64) *Network {
	d := hidden*(inputs+2) + 1
	var outcome networkOutcome = &binaryOutcome{newTilt(solver.Outcome{Family: study.Logistic}, power)}
	if !binary {
		outcome = &normalOutcome{newSpreadRule(power), d}
		d++
	}
	t := &Network{
		weighted: newWeighted(gaussian.Diagonal(d), weight), hidden: hidden, inputs: inputs, x: x, y: y, power: power, outcome: outcome,
		moves: make([]float64, d), bends: make([]float64, d),
	}
	for range hidden {
		t.units = append(t.units, newHiddenUnit())
	}
	return t
}

// Records implements [Tilted].
func (t *Network) Records() int { return len(t.y) }

// Set implements [Tilted].
func (t *Network) Set(cavity *solver.Approximation) {
	t.at = cavity
	t.outcome.set(cavity)
}

// Site implements [Tilted].
func (t *Network) Site(dst []float64, record int) {
	x := t.x[record*t.inputs : (record+1)*t.inputs]
	mean, variance := t.forward(x)
	inMean, inVariance := t.outcome.slopes(t.y[record], mean, variance)
	t.backward(x, inMean, inVariance)
	for i := range t.hidden*(t.inputs+2) + 1 {
		s := t.at.Variance[i]
		t.match(dst, i, s*t.moves[i], s*(1+2*s*t.bends[i]))
	}
	if i, first, second := t.outcome.beside(); i >= 0 {
		t.match(dst, i, first, second)
	}
}

// match writes the site of coordinate i to dst. The tilted distribution has the moments first =
// E[θ_i − m] and second = E[(θ_i − m)²], where m is the cavity's mean.
func (t *Network) match(dst []float64, i int, first, second float64) {
	variance := second - first*first
	if !(variance > 0) {
		// Because the normal distribution of η is approximate, the variance need not be positive.
		// No site has such a variance, so the elements become NaN.
		variance = math.NaN()
	}
	dst[i] = first / variance / t.power
	dst[t.dim+i] = (1/variance - 1/t.at.Variance[i]) * t.weight / t.power
}

// w returns the index in θ of a weight from an input to a unit, b that of the unit's bias, v that
// of its weight in the output, and c that of the output's bias.
func (t *Network) w(unit, input int) int { return unit*t.inputs + input }
func (t *Network) b(unit int) int        { return t.hidden*t.inputs + unit }
func (t *Network) v(unit int) int        { return t.hidden*(t.inputs+1) + unit }
func (t *Network) c() int                { return t.hidden * (t.inputs + 2) }

func (t *Network) forward(x []float64) (mean, variance float64) {
	mean, variance = t.at.Mean[t.c()], t.at.Variance[t.c()]
	for h, u := range t.units {
		in, spread := t.at.Mean[t.b(h)], t.at.Variance[t.b(h)]
		for j, value := range x {
			in += value * t.at.Mean[t.w(h, j)]
			spread += value * value * t.at.Variance[t.w(h, j)]
		}
		u.run(in, spread)
		out, spread := t.at.Mean[t.v(h)], t.at.Variance[t.v(h)]
		mean += out * u.first.value
		variance += spread*u.second.value + out*out*u.variance()
	}
	return mean, variance
}

// backward sets moves and bends to the derivatives of log Z (see [Network]) in the mean and
// variance of each coordinate, given those in the mean and variance of η.
func (t *Network) backward(x []float64, inMean, inVariance float64) {
	t.moves[t.c()], t.bends[t.c()] = inMean, inVariance
	for h, u := range t.units {
		out, spread := t.at.Mean[t.v(h)], t.at.Variance[t.v(h)]
		t.moves[t.v(h)] = inMean*u.first.value + inVariance*2*out*u.variance()
		t.bends[t.v(h)] = inVariance * u.second.value
		first := inMean*out - inVariance*2*out*out*u.first.value
		second := inVariance * (spread + out*out)
		move := first*u.first.inMean + second*u.second.inMean
		bend := first*u.first.inVariance + second*u.second.inVariance
		t.moves[t.b(h)], t.bends[t.b(h)] = move, bend
		for j, value := range x {
			t.moves[t.w(h, j)] = move * value
			t.bends[t.w(h, j)] = bend * value * value
		}
	}
}
