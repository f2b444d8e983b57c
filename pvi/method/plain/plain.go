// Package plain is the method of studies without a privacy guarantee, for simulations and public
// records. A client sends the change of its factor without noise.
package plain

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Method implements [method.Method] for changes of factors that are neither clipped nor noisy.
type Method struct {
	*method.Setting
	method.Moves
	method.Sending
}

// New returns a function that makes the study's method, a [method.Draft]. The function ignores the
// noise multiplier.
func New(s *method.Setting) (method.Draft, error) {
	m := &Method{Setting: s, Moves: method.Moves{Coordinates: s.Coordinates}}
	if err := m.SetMessages(s.FactorMessages(nil)); err != nil {
		return nil, err
	}
	return func(float64) (method.Method, error) { return m, nil }, nil
}

// Releases implements [method.Method]. No release costs privacy.
func (m *Method) Releases() int { return 0 }

// ReleasesAfter implements [method.Method].
func (m *Method) ReleasesAfter(int) int { return 0 }

// Event implements [method.Method].
func (m *Method) Event(int, accountant.Adjacency, int) (accountant.Event, error) {
	return accountant.Composed{}, nil
}

// Increment implements [method.Method].
func (m *Method) Increment(int, accountant.Adjacency, int, int) (accountant.Event, error) {
	return accountant.Composed{}, nil
}

// Noise implements [method.Method].
func (m *Method) Noise() method.Noise { return method.Noise{} }

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast { return method.Forecast{} }

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) { return method.NewRefined(m, s) }

// NewSolverClient implements [method.Refining].
func (m *Method) NewSolverClient(s solver.Solver) method.Client {
	return &client{m.NewRefiner(m.Messages().Exponent, s), m}
}

type client struct {
	*method.Refiner
	method *Method
}

func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	change, err := c.Propose(t, src, new(method.Spent))
	if err != nil {
		return false, err
	}
	return false, c.SendFactor(dst, change, c.method.Messages())
}

func (c *client) Ahead() int { return 0 }

func (c *client) Reuses() bool { return true }

func (c *client) Check(m *method.Memory, _ int) error {
	return c.CheckRefined(m, method.CheckSpent(m.Spent, 0, 0, false))
}
