package fit

import "fedpvi/pvi/hierarchy"

// Hierarchy returns the prior of the coordinates that records depend on, in the order of θ. In a
// centred model these are all coordinates except the standard deviations of group effects. order
// lists their indices in θ, followed by those of the standard deviations, effect by effect.
func (m *Model) Hierarchy() (prior *hierarchy.Prior, order []int) {
	prior = new(hierarchy.Prior)
	spreads := map[int]bool{}
	effects := m.Effects()
	for _, e := range effects {
		spreads[e.Spread] = true
	}
	for i, p := range m.Parameters.All() {
		if !spreads[i] {
			order = append(order, i)
			prior.Mean, prior.SD = append(prior.Mean, p.Prior.Mean), append(prior.SD, p.Prior.SD)
		}
	}
	for n, e := range effects {
		order = append(order, e.Spread)
		prior.Effects = append(prior.Effects, hierarchy.Effect{
			First:  e.First - n - 1, // minus the number of standard deviations of effects, 0 to n, that come before it in θ
			Levels: e.Levels, Scale: m.Parameters.At(e.Spread).HalfNormal,
		})
	}
	return prior, order
}
