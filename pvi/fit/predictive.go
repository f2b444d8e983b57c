package fit

import (
	"math"

	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// mostPredictors is the largest number of linear predictors per record for which the density of a
// general model is computed by integration over the predictors. With more predictors, averages over
// draws are as accurate and faster.
const mostPredictors = 12

// integrable reports whether log predictive densities are computed by integration over the linear
// predictors p of a record. If not, they are averages over draws of θ.
func (m *Model) integrable(p *model.Predictors) bool {
	return p != nil && (!m.General() || p.Len() <= mostPredictors)
}

// A predictive computes log predictive densities of loaded records under a normal posterior.
type predictive struct {
	*model.PredictedTable
	q *solver.Approximation
}

// logDensity returns the log predictive density of a record.
func (p *predictive) logDensity(record int) LogDensity {
	type term struct {
		at     int
		weight float64
	}
	k := p.Len()
	terms, mean, cov := make([][]term, k), make([]float64, k), make([]float64, k*k)
	for a := range k {
		mean[a] = p.EachTerm(record, a, func(at int, weight float64) {
			terms[a] = append(terms[a], term{at, weight})
		})
		for _, t := range terms[a] {
			mean[a] += t.weight * p.q.Mean[t.at]
		}
	}
	for a := range k {
		for b := range a + 1 {
			var sum float64
			for _, s := range terms[a] {
				for _, t := range terms[b] {
					sum += s.weight * t.weight * p.covariance(s.at, t.at)
				}
			}
			cov[a*k+b], cov[b*k+a] = sum, sum
		}
	}
	log, doubt := solver.LogMean(func(dst, eta []float64) { p.Densities(dst, record, eta) }, mean, cov)
	return LogDensity{log, doubt}
}

func (p *predictive) covariance(i, j int) float64 {
	switch {
	case p.q.Covariance != nil:
		return p.q.Covariance[i*len(p.q.Mean)+j]
	case i == j:
		return p.q.Variance[i]
	}
	return 0
}

// logDensities returns the log predictive densities of rows with the given columns.
func (m *Model) logDensities(columns [][]float64, rows int, q *solver.Approximation) ([]LogDensity, error) {
	table, err := m.predictors().Load(rows, columns)
	if err != nil {
		return nil, loadingError(err)
	}
	p, logs := predictive{table, q}, make([]LogDensity, rows)
	for i := range logs {
		logs[i] = p.logDensity(i)
	}
	return logs, nil
}

// integrate sets the log predictive densities of the records in a shard, and the probabilities of
// classes.
func (m *Model) integrate(out []Prediction, s *shard.Shard, q *solver.Approximation) error {
	columns := m.columns(s)
	logs, err := m.logDensities(columns, len(out), q)
	if err != nil {
		return err
	}
	for i, log := range logs {
		out[i].LogDensity, out[i].Error = log.Value, log.Error
	}
	if m.layout.classes == 1 {
		return nil
	}
	for class := range m.layout.classes + 1 {
		for i := range out {
			columns[0][i] = float64(class) // the outcome is the first column
		}
		if logs, err = m.logDensities(columns, len(out), q); err != nil {
			return err
		}
		for i, log := range logs {
			out[i].Classes = append(out[i].Classes, math.Exp(log.Value))
		}
	}
	return nil
}
