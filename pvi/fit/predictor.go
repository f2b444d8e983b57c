package fit

import (
	"math"

	"fedpvi/pvi/shard"
)

// Locations returns the number of linear predictors for the location of an outcome: the number
// of classes minus one, or one if the outcome is not a class.
func (m *Model) Locations() int { return m.layout.classes }

// Location writes to eta the linear predictors of record i at θ, group effects included.
func (m *Model) Location(eta []float64, s *shard.Shard, i int, theta []float64) {
	x, _ := s.Record(i)
	for class := range eta {
		coefficients := theta[class*m.layout.coefficients:]
		eta[class] = 0
		for j, value := range x {
			eta[class] += value * coefficients[j]
		}
	}
	levels, slopes := s.Groups(i)
	for g, w := range m.layout.groups {
		for e, spread := range w.spread {
			effect := math.Exp(theta[spread]) * theta[w.first[e]+int(levels[g])]
			if w.slopes[e] >= 0 {
				effect *= slopes[w.slopes[e]]
			}
			eta[0] += effect
		}
	}
}

// Scale returns the scale of the outcome at θ, on the model's scale: the known or learned
// noise, or the dispersion. It is 0 if the family has no scale.
func (m *Model) Scale(theta []float64) float64 {
	if m.layout.scale >= 0 {
		return math.Exp(theta[m.layout.scale])
	}
	return m.NoiseSD()
}
