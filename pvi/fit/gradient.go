package fit

import (
	"math"

	"fedpvi/pvi/study"
)

// TypicalGradient returns a plausible norm of a record's gradient, or 0 if public numbers do not
// give one. It is the product of two numbers: the norm of the regressors of a record whose
// values are uniform within their public bounds, and the size of a residual on the scale of the
// predictor.
func (m *Model) TypicalGradient() float64 {
	if m.General() {
		return 0
	}
	squares := m.Study.TypicalSquares()
	for _, g := range m.Study.Model.Groups {
		squares += 2 * float64(len(g.Effects())) // one for the effect and one for its log sd
	}
	if m.layout.scale >= 0 {
		squares++
	}
	return m.residual() * math.Sqrt(squares)
}

// residual returns a typical size of the derivative of a record's log density in its predictor.
// For a binary outcome it is twice the derivative at the predictor for which both outcomes are
// equally likely: 1, the largest possible, for log odds, and 2φ(0)/Φ(0) for probit. It is √2 for
// several classes. For other outcomes it is the derivative at two sds of the outcome, expected
// from its prior and bounds.
func (m *Model) residual() float64 {
	st := m.Study
	switch st.Model.Kind() {
	case study.Binary:
		if st.Model.Family == study.Probit {
			return 2 * math.Sqrt(2/math.Pi)
		}
	case study.Class:
		return math.Sqrt2
	case study.Measured:
		if sd := m.NoiseSD(); sd > 0 {
			return 2 / sd
		}
		return 2 / st.Prior.Scale.Median
	case study.Count:
		// The outcome's expected mean is exp(m + v/2) if the log of its mean is N(m, v).
		mean := math.Exp(st.Prior.Mean + st.Prior.SD*st.Prior.SD*st.TypicalSquares()/2)
		return 2 * math.Sqrt(max(1, min(mean, st.OutcomeBound()/2)))
	}
	return 1
}
