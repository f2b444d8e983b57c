package sim

import (
	"math/rand/v2"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// drawOutcome draws the outcome of record i at θ. The outcome is in the unit of its column and
// within the column's bounds.
func drawOutcome(m *fit.Model, column *study.Column, design *shard.Shard, i int, theta []float64, r *rand.Rand) float64 {
	y := m.Draw(design, i, theta, r)
	switch m.Study.Model.Kind() {
	case study.Binary:
		return binaryValue(m.Study.Model.Positive, column, y == 1)
	case study.Class:
		return y
	case study.Measured:
		y = m.Study.Unscale(column, y)
	}
	return min(max(y, column.Low), column.High)
}

// binaryValue returns a value of the column for which the event e happens if positive is true, and
// does not happen if positive is false.
func binaryValue(e *study.Event, column *study.Column, positive bool) float64 {
	if e.Of(column.Low) == positive {
		return column.Low
	}
	if e.Of(column.High) == positive {
		return column.High
	}
	return float64(e.Level) // a level for which the event happens, inside the column's bounds
}
