package fit

import (
	"math"

	"fedpvi/pvi/study"
)

// TypicalGradient is the size that a record's gradient may well have: the norm of the
// regressors of a record whose values are spread evenly within their public bounds, times
// the size of a residual on the scale of the predictor. It is 0 where nothing public
// says so.
func (m *Model) TypicalGradient() float64 {
	if m.General() {
		return 0
	}
	squares := m.Study.TypicalSquares()
	for _, g := range m.Study.Model.Groups {
		squares += 2 * float64(len(g.Effects())) // an effect and the log of its spread
	}
	if m.layout.scale >= 0 {
		squares++
	}
	return m.residual() * math.Sqrt(squares)
}

// residual is the size of the derivative of a record's log density in its predictor: for two
// outcomes twice what it is where both are as likely, which is 1, the most that it can be, for log odds, and
// 2φ(0)/Φ(0) for probit; √2 for several classes; for others two sds of the outcome, of
// those that its prior and its bounds let expect, as a derivative.
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
		// A log mean that is normal with variance v has mean exp(v/2) on average.
		mean := math.Exp(st.Prior.Mean + st.Prior.SD*st.Prior.SD*st.TypicalSquares()/2)
		return 2 * math.Sqrt(max(1, min(mean, st.OutcomeBound()/2)))
	}
	return 1
}
