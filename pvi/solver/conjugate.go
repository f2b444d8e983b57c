package solver

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

// Conjugate computes a client's factor in a linear model with known noise, exactly. It proposes the
// natural gradient of the expected log likelihood at q (Khan and Lin, "Conjugate-Computation
// Variational Inference", 2017, with a step size of one). For a q with full covariance, this is the
// likelihood's natural parameters. For a diagonal q, it is the parameters from mean-field
// variational inference. Either way, q converges to the q of pooled variational inference, however
// the records are divided among clients.
//
// Conjugate uses the records without noise. A mechanism must make the proposals private.
type Conjugate struct {
	stateless
	statistics []float64 // sum of the records' sufficient statistics, in the layout of gaussian.Full
}

// NewConjugate returns the solver for a shard. It adds up the sufficient statistics of the records.
func NewConjugate(m *model.Linear, s *shard.Shard) *Conjugate {
	c := &Conjugate{statistics: make([]float64, m.StatisticsSize())}
	for i := range s.Len() {
		x, y := s.Record(i)
		m.AddStatistics(c.statistics, x, y)
	}
	return c
}

// Times multiplies the statistics of c, as if each record occurred that number of times. It returns
// c.
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
