package fit

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// Locations returns the number of linear predictors for the location of an outcome: the number
// of classes minus one, or one if the outcome is not a class.
func (m *Model) Locations() int { return m.layout.classes }

// Draw returns a random outcome of record i at θ, on the model's scale.
func (m *Model) Draw(s *shard.Shard, i int, theta []float64, r solver.Source) float64 {
	eta, scale := make([]float64, m.Locations()), m.NoiseSD()
	m.predict(eta, s, i, theta)
	if m.layout.scale >= 0 {
		scale = math.Exp(theta[m.layout.scale])
	}
	return m.Outcome().Response().Draw(eta, scale, r)
}

// predict writes the location's predictors of record i at θ to eta, including the effects of
// groups.
func (m *Model) predict(eta []float64, s *shard.Shard, i int, theta []float64) {
	x, _ := s.Record(i)
	for class := range eta {
		at := class * m.layout.coefficients
		eta[class] = floats.Dot(x, theta[at:at+len(x)])
	}
	m.eachEffect(s, i, func(spread, at int, value float64) {
		effect := theta[at] * value
		if !m.Centred() {
			effect *= math.Exp(theta[spread])
		}
		eta[0] += effect
	})
}
