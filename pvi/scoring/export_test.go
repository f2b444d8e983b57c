package scoring

import "fedpvi/pvi/solver"

// DispersionClip is the clip of squared residuals.
const DispersionClip = dispersionClip

// ClippedResidual returns what clippedResidual does.
func ClippedResidual(mu, mean, frailty float64) float64 { return clippedResidual(mu, mean, frailty) }

// Theta returns the point of the round.
func (q *Query) Theta() []float64 { return q.theta }

// Round returns the round of the query.
func (q *Query) Round() int { return q.round }

// Panicking makes the computation of records with an outcome above y panic.
func (p *Problem) Panicking(y float64) { p.response = panicking{p.response, y} }

type panicking struct {
	solver.Described
	above float64
}

func (r panicking) Eval(y float64, eta, g, h []float64) float64 {
	if y > r.above {
		panic(y)
	}
	return r.Described.Eval(y, eta, g, h)
}
