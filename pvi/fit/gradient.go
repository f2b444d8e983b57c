package fit

import (
	"math"

	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// TypicalGradient returns a plausible norm for the gradient of a record, or 0 if the public numbers
// do not determine one. It is the norm of typical regressors ([study.Study.TypicalSquares]) times
// the typical size of a residual, on the scale of the predictor.
func (m *Model) TypicalGradient() float64 {
	if m.General() {
		return 0
	}
	squares := m.Study.TypicalSquares()
	for _, g := range m.Study.Model.Groups {
		squares += 2 * float64(len(g.Effects())) // one coordinate for the effect, and one for its log standard deviation
	}
	if m.layout.scale >= 0 {
		squares++
	}
	return m.typical(m.public()).Slope * math.Sqrt(squares)
}

// Curvature estimates how much precision a record adds to a coefficient whose regressor is 1. It
// returns 0 if the public numbers are not sufficient.
func (m *Model) Curvature() float64 {
	if m.General() {
		return 0
	}
	p := m.public()
	if len(m.layout.groups) > 0 {
		// With group effects, p.Scale is the prior median, even if the noise is known.
		p.Scale = m.Study.Prior.Scale.Median
	}
	return m.typical(p).Curvature
}

// RecordBound returns a plausible upper bound on the natural parameters of a record. It determines
// how large the numbers in messages can be.
func (m *Model) RecordBound() float64 {
	squares, _ := m.Study.RegressorBounds()
	for _, g := range m.Study.Model.Groups {
		squares += float64(len(g.Effects()) + 1)
	}
	return m.typical(m.public()).Bound * (1 + squares)
}

func (m *Model) public() solver.Public {
	prior := m.Study.Prior
	p := solver.Public{
		Scale: m.NoiseSD(), LeastScale: m.NoiseSD(), Most: m.Study.OutcomeBound(),
		// If η is N(m, v), the mean of exp(η) is exp(m + v/2).
		Mean: math.Exp(prior.Mean + prior.SD*prior.SD*m.Study.TypicalSquares()/2),
	}
	if p.Scale == 0 {
		p.Scale, p.LeastScale = prior.Scale.Median, prior.Scale.Median/(prior.Scale.Factor*prior.Scale.Factor)
	}
	return p
}

// typical returns typical sizes of the derivatives of a record's log likelihood. If the model is
// not a regression, it returns those for a normal or a binary outcome.
func (m *Model) typical(p solver.Public) solver.Typical {
	o := m.Outcome()
	if m.General() {
		o = solver.Outcome{Family: study.Logistic}
		if m.Study.Model.Kind() == study.Measured {
			o.Family = study.Linear
		}
	}
	return o.Response().Typical(p)
}
