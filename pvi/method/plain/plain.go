// Package plain is the method of studies without a privacy guarantee. A client sends the change
// of its factor as its solver proposes it, without noise. These studies are for simulations and
// for public records.
package plain

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Method is the method whose clients send changes of factors without clipping or noise.
type Method struct {
	*method.Setting
	method.Moves
	messages method.Messages
}

// New returns a draft of the method of a study. The draft ignores its noise multiplier, because
// the method adds no noise.
func New(s *method.Setting) (method.Draft, error) {
	messages, err := s.FactorMessages(nil)
	if err != nil {
		return nil, err
	}
	return func(float64) (method.Method, error) {
		return &Method{s, method.Moves{Coordinates: s.Coordinates}, messages}, nil
	}, nil
}

// Messages implements [method.Method].
func (m *Method) Messages() method.Messages { return m.messages }

// Releases implements [method.Method]. It returns 0, because no release costs privacy.
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

// CheckShard implements [method.Method].
func (m *Method) CheckShard(*shard.Shard) error { return nil }

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) {
	refine, err := m.NewSolver(s)
	if err != nil {
		return nil, err
	}
	return m.NewSolverClient(refine), nil
}

// NewSolverClient implements [method.Refining].
func (m *Method) NewSolverClient(s solver.Solver) method.Client {
	return &client{m.NewRefiner(m.messages.Exponent, s), m}
}

type client struct {
	*method.Refiner
	method *Method
}

// Release implements [method.Client].
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	change, err := c.Propose(t, src, new(method.Spent))
	if err != nil {
		return false, err
	}
	return false, c.SendFactor(dst, change, c.method.messages)
}

// Spent implements [method.Client].
func (c *client) Spent() method.Spent { return method.Spent{} }

// Ahead implements [method.Client].
func (c *client) Ahead() int { return 0 }

// Reuses implements [method.Client].
func (c *client) Reuses() bool { return true }

// Save implements [method.Client].
func (c *client) Save(m *method.Memory) { c.SaveRefined(m, method.Spent{}) }

// Check implements [method.Client].
func (c *client) Check(m *method.Memory, _ int) error {
	return c.CheckRefined(m, method.CheckSpent(m.Spent, 0, 0, false))
}

// Restore implements [method.Client].
func (c *client) Restore(m *method.Memory) error { return c.RestoreRefined(m) }
