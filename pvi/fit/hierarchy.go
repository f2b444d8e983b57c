package fit

import "fedpvi/pvi/hierarchy"

// Hierarchy returns the prior of the coordinates on which records depend, in the order of θ: in a
// centred model all except the sds of the effects of groups. order lists their indices in θ, and
// then those of the sds, effect by effect.
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
			First:  e.First - n - 1, // without the sds of effects 0 to n, which precede it in θ
			Levels: e.Levels, Scale: m.Parameters.At(e.Spread).HalfNormal,
		})
	}
	return prior, order
}
