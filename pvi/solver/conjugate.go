package solver

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

// Conjugate is the exact update of a conjugate model. It proposes the natural gradient, at q, of
// the shard's expected log likelihood, which is the gradient with respect to the mean parameters
// of q (Khan and Lin, "Conjugate-Computation Variational Inference", 2017, with a step of one).
// For a q with full covariance this is the likelihood's natural parameters. For a diagonal q it
// is their mean-field projection. If all clients use Conjugate, q converges to the q of pooled
// variational inference, for any partition.
//
// Conjugate uses the records without noise. Its proposals must be made private by a mechanism.
type Conjugate struct {
	stateless
	statistics []float64 // sum of the records' statistics, in the layout of gaussian.Full
}

// NewConjugate returns the solver for a shard. It adds up the statistics of the shard's records.
func NewConjugate(m *model.Linear, s *shard.Shard) *Conjugate {
	c := &Conjugate{statistics: make([]float64, m.StatisticsSize())}
	for i := range s.Len() {
		x, y := s.Record(i)
		m.AddStatistics(c.statistics, x, y)
	}
	return c
}

// Times multiplies the weight of each record by times, and returns c.
func (c *Conjugate) Times(times float64) *Conjugate {
	for i := range c.statistics {
		c.statistics[i] *= times
	}
	return c
}

// Propose implements [Solver]. It releases nothing.
func (c *Conjugate) Propose(dst []float64, p Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	p.Family.ProjectLikelihood(dst, c.statistics, p.Mean)
	return nil, nil
}
