package fit

import (
	"fmt"
	"slices"
	"strings"

	"fedpvi/pvi/ep"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Tilted returns the sites that expectation propagation uses for the records of a shard, in the
// given family. clients is the number of clients in the study.
func (m *Model) Tilted(s *shard.Shard, family gaussian.Family, clients int) ep.Tilted {
	how, st := m.Study.Inference.Propagation, m.Study.Model
	if !m.General() {
		return ep.NewRegression(m.Regression(s), family, how.Power, how.PrecisionWeight)
	}
	x, y := flat(s)
	switch {
	case st.Family == study.NeuralNetwork:
		return ep.NewNetwork(st.Hidden, x, y, s.Dim(), st.Kind() == study.Binary, how.Power, how.PrecisionWeight)
	case st.ClusterSD > 0:
		return ep.NewMixture(st.Components, len(st.Variables), st.ClusterSD, x, how.Sites == study.TiedSites, how.PrecisionWeight)
	default:
		return ep.NewClusters(st.Components, len(st.Variables), x, stickSD, 1/float64(clients), how.PrecisionWeight)
	}
}

// SiteSize returns the number of elements of a record's site (see [ep.Tilted]).
func (m *Model) SiteSize(family gaussian.Family) int {
	if m.Study.Model.Family == study.Mixture && m.Study.Inference.Propagation.Sites == study.TiedSites {
		return m.Dim() + m.Study.Model.Components
	}
	return family.Size()
}

// Start returns a point θ where fits can start. It has the values in the map, and prior means for
// all other parameters.
func (m *Model) Start(at map[string]float64) ([]float64, error) {
	mean := make([]float64, 0, m.Dim())
	for _, p := range m.Parameters.All() {
		x, ok := at[p.Name]
		if !ok {
			x = p.Prior.Mean
		}
		mean = append(mean, x)
	}
	for name := range at {
		if !slices.Contains(m.Names(), name) {
			return nil, fmt.Errorf("inference.start_at names %q, which is not a parameter of the model: write some of %s", name, strings.Join(m.Names(), ", "))
		}
	}
	return mean, nil
}

// Touched returns an upper bound on the number of coordinates of θ that one record depends on. A
// record has only one level of each categorical column. For a mixture the bound is 1, because
// clusters are counted separately.
func (m *Model) Touched() int {
	switch m.Study.Model.Family {
	case study.Mixture:
		return 1
	case study.NeuralNetwork:
		return m.Dim()
	}
	touched := m.layout.classes * len(m.Study.Model.Terms)
	if m.layout.scale >= 0 {
		touched++
	}
	return touched + 2*len(m.Effects())
}
