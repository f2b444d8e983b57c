package fit

import (
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Prediction is the prediction of one record's outcome, on the model's scale.
type Prediction struct {
	Outcome    float64   // observed outcome
	LogDensity float64   // log posterior predictive density of the outcome
	Error      float64   // standard error of LogDensity if that is an average over draws, and otherwise 0
	Mean       float64   // expected outcome; NaN for classes
	Classes    []float64 // probability of each class, or nil
}

// Predict returns a prediction for each record of a shard under the Gaussian posterior natural.
func (m *Model) Predict(s *shard.Shard, family gaussian.Family, natural []float64) ([]Prediction, error) {
	q, err := solver.NewApproximation(family, natural)
	if err != nil {
		return nil, err
	}
	out := make([]Prediction, s.Len())
	for i := range out {
		_, out[i].Outcome = s.Record(i)
	}
	integrated := m.integrable(m.predictors())
	if !integrated || m.predicts() {
		err = m.average(out, s, family, natural)
	}
	if !m.General() {
		r := m.Regression(s)
		for i := range out {
			out[i].Mean = r.Mean(i, q)
		}
	}
	if err != nil || !integrated {
		return out, err
	}
	return out, m.integrate(out, s, q)
}

// predicts reports whether the model is a program, or another model that is not a regression, and
// predicts an outcome.
func (m *Model) predicts() bool {
	if !m.General() {
		return false
	}
	kind, _, _ := m.Program().Outcomes()
	return kind != ir.NoPrediction
}
