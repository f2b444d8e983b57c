package fit

import (
	"math"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Prediction is the prediction of one record's outcome, on the model's scale.
type Prediction struct {
	Outcome    float64   // observed outcome
	LogDensity float64   // log posterior predictive density of the outcome
	Mean       float64   // expected outcome; NaN for classes
	Classes    []float64 // probability of each class, or nil
}

// Predict returns a prediction for every record of a shard under the Gaussian posterior natural.
func (m *Model) Predict(s *shard.Shard, family gaussian.Family, natural []float64) ([]Prediction, error) {
	if m.General() {
		return m.predictGeneral(s, family, natural)
	}
	q, err := solver.NewApproximation(family, natural)
	if err != nil {
		return nil, err
	}
	r := m.Regression(s)
	out := make([]Prediction, s.Len())
	for i := range out {
		_, y := s.Record(i)
		out[i].Outcome = y
		out[i].LogDensity, out[i].Mean = r.Predict(i, y, q)
		if m.Study.Model.Kind() == study.Class {
			for k := range m.layout.classes + 1 {
				log, _ := r.Predict(i, float64(k), q)
				out[i].Classes = append(out[i].Classes, math.Exp(log))
			}
		}
	}
	return out, nil
}
