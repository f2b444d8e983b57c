package fit

import (
	"math"

	"fedpvi/pvi/model"
	"fedpvi/pvi/program/syntax"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Model is the mathematical model of a study.
type Model struct {
	Study      *study.Study
	Parameters Parameters

	layout layout
	linear *model.Linear
	// nil if it would take much memory; the method Program then builds it each time
	program *model.Model
	// predictors returns the linear predictors of a record ([model.Model.Predictors])
	predictors func() *model.Predictors
	generated  *model.Quantities // quantities that the program generates; nil if there are none
	notes      []syntax.Message
	beyond     bool // whether some prior is not Gaussian
}

// General reports whether the model is something other than a regression.
func (m *Model) General() bool {
	f := m.Study.Model.Family
	return f == study.NoModel || f == study.Mixture || f == study.NeuralNetwork || f == study.ByProgram
}

// Linear returns the study's conjugate linear model, or nil if the model is not conjugate.
func (m *Model) Linear() *model.Linear { return m.linear }

// Width returns the number of regressors per record.
func (m *Model) Width() int { return m.layout.coefficients }

// NoiseSD returns the standard deviation of the outcome on the model's scale if it is known, or 0.
func (m *Model) NoiseSD() float64 { return m.Study.Model.NoiseSD / m.Study.OutcomeUnit() }

// Likelihood returns the likelihood of the records in s. clients is the number of clients in the
// study. The likelihood includes this client's equal share of the log ratio between the prior and
// the Gaussian prior of q.
func (m *Model) Likelihood(s *shard.Shard, clients int) (solver.Likelihood, error) {
	if m.General() {
		return m.Records(s, clients)
	}
	return m.Regression(s), nil
}

// Regression returns the likelihood of a shard's records. The model must be a regression.
func (m *Model) Regression(s *shard.Shard) *solver.Regression {
	b := solver.NewRegression(m.Dim(), m.Outcome())
	for i := range s.Len() {
		m.addRecord(b, s, i)
	}
	return b
}

// Outcome returns the distribution of the outcome given the predictors. The model must be a
// regression.
func (m *Model) Outcome() solver.Outcome {
	st := m.Study
	o := solver.Outcome{Family: st.Model.Family, DegreesOfFreedom: st.Model.DegreesOfFreedom, NoiseSD: m.NoiseSD(), Classes: m.layout.classes + 1}
	if !m.Centred() {
		o.Effects = len(m.Effects())
	}
	return o
}

// addRecord adds record i of s to b. The predictors of the record are, in this order: one for each
// class; one for a learned scale; and for each group effect two, the log standard deviation and the
// standardised effect. Centred effects belong to the first predictor instead.
func (m *Model) addRecord(b *solver.Regression, s *shard.Shard, i int) {
	x, y := s.Record(i)
	for class := range m.layout.classes {
		for j, value := range x {
			b.Load(class*m.layout.coefficients+j, value)
		}
		if m.Centred() {
			m.eachEffect(s, i, func(_, at int, value float64) { b.Load(at, value) })
		}
		b.EndPredictor()
	}
	if m.layout.scale >= 0 {
		b.Load(m.layout.scale, 1)
		b.EndPredictor()
	}
	if !m.Centred() {
		m.eachEffect(s, i, func(spread, at int, value float64) {
			b.Load(spread, 1)
			b.EndPredictor()
			b.Load(at, value)
			b.EndPredictor()
		})
	}
	b.EndRecord(y)
}

// eachEffect calls do for each group effect on record i. spread is the index in θ of the log
// standard deviation of the effect. at is the index of the effect of the record's group, and value
// its regressor.
func (m *Model) eachEffect(s *shard.Shard, i int, do func(spread, at int, value float64)) {
	levels, slopes := s.Groups(i)
	for g, effects := range m.layout.groups {
		for _, e := range effects {
			value := 1.0
			if e.Slope >= 0 {
				value = slopes[e.Slope]
			}
			do(e.Spread, e.First+int(levels[g]), value)
		}
	}
}

// Back converts a value of the coordinate to the parameter.
func (p Parameter) Back(coordinate float64) float64 {
	switch {
	case p.Log:
		return math.Exp(coordinate)
	case p.HalfNormal > 0:
		return max(0, coordinate)
	}
	return coordinate
}
