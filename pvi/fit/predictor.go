package fit

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/model/tape"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// Locations returns the number of predictors for the location of the outcome. It is one, or the
// number of classes minus one.
func (m *Model) Locations() int { return m.layout.classes }

// Draw returns a random outcome of record i at θ, on the model's scale.
func (m *Model) Draw(s *shard.Shard, i int, theta []float64, r solver.Source) float64 {
	eta := make([]float64, m.Locations())
	m.predict(eta, s, i, theta)
	return m.Outcome().Response().Draw(eta, m.scaleAt(theta), r)
}

func (m *Model) scaleAt(theta []float64) float64 {
	if m.layout.scale >= 0 {
		return math.Exp(theta[m.layout.scale])
	}
	return m.NoiseSD()
}

// A drawer draws the outcomes of several records at a given θ.
type drawer struct {
	model    *Model
	shard    *shard.Shard
	records  []int
	response solver.Response
	x        []float64 // regressors of all records, one record after the other
	rows     []int32   // 0, 1, ..., the number of records minus one
	eta      []float64 // predictors of all records, class by class
	one      []float64 // predictors of one record
}

func (m *Model) newDrawer(s *shard.Shard, records []int) *drawer {
	d := &drawer{
		model: m, shard: s, records: records, response: m.Outcome().Response(),
		eta: make([]float64, m.Locations()*len(records)), one: make([]float64, m.Locations()),
	}
	for k, i := range records {
		x, _ := s.Record(i)
		d.x, d.rows = append(d.x, x...), append(d.rows, int32(k))
	}
	return d
}

// draw writes a random outcome of each record to y, drawn at θ and on the model's scale.
func (d *drawer) draw(y, theta []float64, r solver.Source) {
	n, scale := len(d.records), d.model.scaleAt(theta)
	for class := range d.one {
		at := class * d.model.layout.coefficients
		tape.DotRows(d.eta[class*n:(class+1)*n], d.x, d.rows, theta[at:at+len(d.x)/n])
	}
	for k, i := range d.records {
		for class := range d.one {
			d.one[class] = d.eta[class*n+k]
		}
		d.model.addEffects(d.one, d.shard, i, theta)
		y[k] = d.response.Draw(d.one, scale, r)
	}
}

// predict computes the predictors of the location for record i at θ, including group effects, and
// writes them to eta.
func (m *Model) predict(eta []float64, s *shard.Shard, i int, theta []float64) {
	x, _ := s.Record(i)
	for class := range eta {
		at := class * m.layout.coefficients
		eta[class] = floats.Dot(x, theta[at:at+len(x)])
	}
	m.addEffects(eta, s, i, theta)
}

// addEffects adds the group effects of record i at θ to its predictors eta.
func (m *Model) addEffects(eta []float64, s *shard.Shard, i int, theta []float64) {
	m.eachEffect(s, i, func(spread, at int, value float64) {
		effect := theta[at] * value
		if !m.Centred() {
			effect *= math.Exp(theta[spread])
		}
		eta[0] += effect
	})
}
