package gradientsum

import (
	"errors"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/steps"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// Elements of λ are multiples of 2^-exponent, and at most 2^66 in absolute value.
const exponent = 60

// A Method implements [method.Method] for gradient descent in which each step uses a noisy sum of
// gradients over all clients.
type Method struct {
	*steps.Base
	gradients *steps.Gradients
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	g, err := steps.NewGradients(s, true)
	if err != nil {
		return nil, err
	}
	if _, err := newDescent(g); err != nil {
		return nil, err
	}
	return func(multiplier float64) (method.Method, error) {
		m := &Method{gradients: g}
		var err error
		m.Base, err = steps.New(s, steps.Config{
			Steps: g.Steps, Dim: g.Size(), Releases: s.Clients, Records: s.Study.Federation.MaxRecords,
			Sampling: m.sampling,
		}, multiplier)
		if err != nil {
			return nil, fmt.Errorf("%w (a vector is a record's gradient, or its site)", err)
		}
		sum := m.Sampled()
		return m, m.SetMessages(method.Messages{Size: sum.Dim(), Lattice: sum.Lattice(), Range: phase.RangeOf(s.Study, sum, s.Clients), Exponent: exponent}, nil)
	}, nil
}

func (m *Method) sampling(int) dpmech.Sampling {
	if rate := m.gradients.Steps.Rate; rate < 1 {
		return dpmech.Poisson{Rate: rate}
	}
	return dpmech.FullBatch{}
}

func newDescent(g *steps.Gradients) (*solver.SumDescent, error) {
	none, err := g.Model.Records(shard.Design(g.Study, new(shard.Records)), 1)
	if err != nil {
		return nil, err
	}
	return solver.NewSumDescent(none, g.Options(g.Steps.Total, g.Steps.Rate))
}

// Exact implements [method.Method]. λ is computed in floating point.
func (m *Method) Exact() bool { return false }

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast { return m.NewForecast(m.AveragedNoise()) }

// AveragedNoise implements [method.Stepped].
func (m *Method) AveragedNoise() float64 { return m.gradients.AveragedNoise(m.Noise().SD) }

// ClosedFormNoise implements [method.Stepped].
func (m *Method) ClosedFormNoise() float64 {
	return m.gradients.ClosedFormNoise(m.Noise().SD, m.Steps().Total)
}

// OnDevice implements [method.Device].
func (m *Method) OnDevice() error {
	return errors.New(`with federation.opens = "sums" steps are taken with all clients, one by one`)
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) {
	program, err := m.Model.Records(s, m.Clients)
	if err != nil {
		return nil, err
	}
	mechanism, err := m.For(s)
	if err != nil {
		return nil, err
	}
	sums, err := solver.NewGradientSum(program, mechanism)
	if err != nil {
		return nil, err
	}
	return &client{method: m, sums: sums}, nil
}

// A client releases sums of gradients. The only state it keeps is the number of its releases.
type client struct {
	method.NoFactor

	method *Method
	sums   *solver.GradientSum
}

// Release implements [method.Client]. The Walk in the task must belong to the same method.
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	c.Count()
	return true, c.sums.Release(dst, t.Walk.(*walk).query(t.Number), src)
}

func (c *client) Check(m *method.Memory, answered int) error {
	return method.CheckNoFactor(m, c.method.ReleasesAfter(c.method.Round(answered)), answered)
}

func (c *client) Restore(m *method.Memory) error {
	if err := c.sums.Resume(m.Spent.Statistics); err != nil {
		return err
	}
	return c.NoFactor.Restore(m)
}
