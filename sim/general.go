package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// drawGeneral draws the outcomes of a network, or the variables of a mixture, at θ.
func drawGeneral(m *fit.Model, records *shard.Records, theta []float64, r *rand.Rand) error {
	if m.Study.Model.Family == study.Mixture {
		drawMixture(m, records, theta, r)
		return nil
	}
	table, err := m.Load(shard.Design(m.Study, records))
	if err != nil {
		return fmt.Errorf("records made up: %w", err)
	}
	means := make([]float64, records.Len())
	m.Program().Predict(means, theta, table)
	outcome := m.Study.ColumnIndex(m.Study.Model.Outcome)
	column := &m.Study.Columns[outcome]
	for i, mean := range means {
		if e := m.Study.Model.Positive; e != nil {
			records.Row(i)[outcome] = binaryValue(e, column, r.Float64() < mean)
			continue
		}
		noise := math.Exp(theta[len(theta)-1]) // the last parameter is the log of the noise sd
		y := m.Study.Unscale(column, mean+noise*r.NormFloat64())
		records.Row(i)[outcome] = min(max(y, column.Low), column.High)
	}
	return nil
}

// drawMixture draws the variables of every record from the mixture at the unconstrained parameters
// theta. The constrained parameters are the weights of the clusters and then, for each variable,
// the clusters' means and log sds. If the study gives the sd of the clusters, the only parameters
// are the means, and all weights are equal.
func drawMixture(m *fit.Model, records *shard.Records, theta []float64, r *rand.Rand) {
	k := m.Study.Model.Components
	values := make([]float64, len(m.Program().ConstrainedNames()))
	m.Program().Constrain(values, theta)
	known := m.Study.Model.ClusterSD
	weights, rest, each := values[:k], values[k:], 2*k
	if known > 0 {
		weights, rest, each = slices.Repeat([]float64{1 / float64(k)}, k), values, k
	}
	for i := range records.Len() {
		component, u := 0, r.Float64()
		for component < k-1 && u >= weights[component] {
			u -= weights[component]
			component++
		}
		for v, name := range m.Study.Model.Variables {
			at := m.Study.ColumnIndex(name)
			c := &m.Study.Columns[at]
			of := rest[each*v:]
			sd := known
			if sd == 0 {
				sd = math.Exp(of[k+component])
			}
			x := m.Study.Unscale(c, of[component]+sd*r.NormFloat64())
			records.Row(i)[at] = min(max(x, c.Low), c.High)
		}
	}
}
