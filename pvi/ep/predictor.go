package ep

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A tilt computes the tilted distribution for a record with one predictor η = mean + sd·z. It finds
// the mean and variance of z under the density proportional to N(z; 0, 1)·p(y | η)^power. It is not
// safe for concurrent use.
type tilt struct {
	outcome  solver.Outcome
	response solver.Response
	power    float64
	nodes    []float64 // nodes of a Gauss–Hermite rule for the standard normal
	weights  []float64
	eta      [1]float64
	g, h     [1]float64
	logs     []float64
}

func newTilt(o solver.Outcome, power float64) *tilt {
	return &tilt{outcome: o, response: o.Response(), power: power, nodes: hermite.Points, weights: hermite.Weights, logs: make([]float64, len(hermite.Weights))}
}

// slopes returns g = ∂log Z/∂mean and h = −∂²log Z/∂mean², where
//
//	Z(mean, variance) = ∫ N(η; mean, variance)·p(y | η)^power dη.
//
// The tilted mean of η is mean + variance·g, and its tilted variance is variance·(1 − variance·h).
//
// For a probit outcome with power 1,
//
//	Z = Φ(±mean/√(1 + variance)),
//
// with + for y = 1 and − for y = 0 (Rasmussen and Williams, "Gaussian Processes for Machine
// Learning", 2006, equation 3.82). For a normal outcome Z is a normal density. Otherwise both
// derivatives come from a Gauss–Hermite rule around the mode.
func (t *tilt) slopes(y, mean, variance float64) (g, h float64) {
	switch {
	// The sd of the noise is known here: otherwise there would be a second predictor.
	case t.outcome.Family == study.Linear:
		h = 1 / (t.outcome.NoiseSD*t.outcome.NoiseSD/t.power + variance)
		return (y - mean) * h, h
	case t.outcome.Family == study.Probit && t.power == 1:
		probitSlopes(t.g[:], t.h[:], []float64{y}, []float64{mean}, []float64{variance})
		return t.g[0], t.h[0]
	}
	if variance == 0 {
		_, g, h = t.at(y, mean)
		return g, h
	}
	sd := math.Sqrt(variance)
	first, second := t.moments(y, mean, sd)
	return first / sd, (1 - second) / variance
}

func (t *tilt) slopesAll(g, h, y, mean, variance []float64) {
	if t.outcome.Family == study.Probit && t.power == 1 {
		probitSlopes(g, h, y, mean, variance)
		return
	}
	for i := range g {
		g[i], h[i] = t.slopes(y[i], mean[i], variance[i])
	}
}

// probitSlopes is slopesAll for probit outcomes, P(y = 1) = Φ(η), with power 1.
func probitSlopes(g, h, y, mean, variance []float64) {
	y, mean, variance, h = y[:len(g)], mean[:len(g)], variance[:len(g)], h[:len(g)]
	for i, m := range mean {
		h[i] = (2*y[i] - 1) * m / math.Sqrt(1+variance[i])
	}
	special.NormalRatioAll(g, h)
	for i, ratio := range g {
		scale := 1 / math.Sqrt(1+variance[i])
		h[i] = ratio * (ratio + h[i]) * scale * scale
		g[i] = (2*y[i] - 1) * ratio * scale
	}
}

// at returns the log likelihood at η, its first derivative, and minus its second derivative, each
// multiplied by t.power.
func (t *tilt) at(y, eta float64) (log, g, h float64) {
	t.eta[0] = eta
	log = t.power * t.response.Eval(y, t.eta[:], t.g[:], t.h[:])
	return log, t.power * t.g[0], -t.power * t.h[0]
}

// moments returns the mean and variance of the tilted z.
func (t *tilt) moments(y, mean, sd float64) (first, second float64) {
	mode, width := t.mode(y, mean, sd)
	largest := math.Inf(-1)
	for i, u := range t.nodes {
		z := mode + width*u
		log, _, _ := t.at(y, mean+sd*z)
		t.logs[i] = log - z*z/2 + u*u/2
		largest = max(largest, t.logs[i])
	}
	var total float64
	for i, w := range t.weights {
		t.logs[i] = w * math.Exp(t.logs[i]-largest)
		total += t.logs[i]
		first += t.logs[i] * t.nodes[i]
	}
	first /= total
	for i, w := range t.logs {
		gap := t.nodes[i] - first
		second += w * gap * gap
	}
	return mode + width*first, width * width * second / total
}

// mode finds the mode of the tilted density of z, where the curvature of its log is −1/width².
func (t *tilt) mode(y, mean, sd float64) (z, width float64) {
	const steps, close = 60, 1e-8
	for range steps {
		_, g, h := t.at(y, mean+sd*z)
		bend := 1 + sd*sd*max(h, 0)
		move := (sd*g - z) / bend
		// The slope can change by a large factor within one sd, for example if the likelihood
		// contains an exponential. So steps are limited.
		move = max(-longestMove, min(longestMove, move))
		z += move
		width = 1 / math.Sqrt(bend)
		if math.Abs(move) <= close*(1+math.Abs(z)) {
			break
		}
	}
	return z, width
}

const longestMove = 2
