package fit

// An Estimate is a point estimate of a parameter, for studies without intervals.
type Estimate struct {
	Name    string  `json:"name"`
	Value   float64 `json:"estimate"`         // estimate on the model's scale
	Natural float64 `json:"natural_estimate"` // estimate in natural units
	Unit    string  `json:"unit"`
	Ratio   string  `json:"ratio_unit,omitempty"` // see [Row.Ratio]
}

// Estimates converts θ to point estimates of the parameters. It takes the exponential of
// logarithms, without a correction that would depend on standard deviations.
func (m *Model) Estimates(theta []float64) []Estimate {
	units := m.Units()
	natural := make([]float64, len(units))
	units.Map(natural, theta)
	out := make([]Estimate, len(units))
	for i, p := range m.Parameters.All() {
		out[i] = Estimate{Name: p.Name, Value: p.Back(theta[i]), Natural: p.Back(natural[i]), Unit: units[i].Unit, Ratio: units[i].Ratio}
	}
	return out
}
