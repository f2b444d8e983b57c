package fit

import (
	"math"

	"fedpvi/pvi/study"
)

// GradientBound is the norm that a record's gradient is at most, or seldom exceeds
// where the model fits: the public bound on the norm of the regressors, times the size
// of a residual on the scale of the predictor. It is 0 where nothing public says so.
func (m *Model) GradientBound() float64 {
	if m.General() {
		return 0
	}
	st := m.Study
	squares, _ := st.RegressorBounds()
	for _, g := range st.Model.Groups {
		squares += 2 * float64(len(g.Effects())) // an effect and the log of its spread
	}
	if m.layout.scale >= 0 {
		squares++
	}
	return m.residual() * math.Sqrt(squares)
}

// residual is the size of the derivative of a record's log density in its predictor:
// at most 1 for log odds, √2 for several classes; for a measured outcome one sd of the
// noise, for a count that of a Poisson count half as large as any can be.
func (m *Model) residual() float64 {
	st := m.Study
	switch st.Model.Kind() {
	case study.Class:
		return math.Sqrt2
	case study.Measured:
		if sd := m.NoiseSD(); sd > 0 {
			return 1 / sd
		}
		return 1 / st.Prior.Scale.Median
	case study.Count:
		return math.Sqrt(max(1, st.OutcomeBound()/2))
	}
	return 1
}
