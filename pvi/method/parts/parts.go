// Package parts is the method in which a client divides its records at random into K disjoint
// parts. Each part has its own solver, and the client's change is the sum of the parts' clipped
// changes (Heikkilä et al., "Differentially private partitioned variational inference", 2023,
// section 3: "local averaging" and "virtual PVI clients").
//
// A part's change in a round is a function of the records of the part, the public plan, and a
// factor that was computed before the round. The factor is computed from λ, from the client's own
// releases, or from the part's own earlier changes before noise. So adding or removing a record
// changes only one of the K clipped vectors of every round, by at most 2C, where C is the clip of a
// part (see [dpmech.Config.Aggregates]).
//
// The part of each record is drawn once for the whole study, independently of all other records.
// The sensitivity is 2C however the other records are divided, so the cost also holds for a random
// division. If the study protects persons, one draw decides the part of all records of a person,
// which then costs as much as a single record.
package parts

import (
	"fedpvi/dpmech"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Method implements [method.Method] for studies in which a client releases a sum of clipped
// changes, one for each part of its records.
type Method struct {
	*method.Sum
	method.Moves
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	return func(multiplier float64) (method.Method, error) {
		m := &Method{Moves: method.Moves{Coordinates: s.Coordinates}}
		var err error
		m.Sum, err = s.NewSum(dpmech.Config{
			Dim:             s.Family.Size(),
			Clip:            s.ChangeClip(),
			NoiseMultiplier: multiplier,
			Shares:          s.Shares(),
			Terms:           s.Study.Inference.Partitions.Count,
			Releases:        s.Clients,
			Aggregates:      true,
			PerUnit:         s.Holders(),
		}, s.Study.Inference.Rounds)
		if err != nil {
			return nil, err
		}
		return m, m.SetMessages(s.HiddenMessages(m.Mechanism()))
	}, nil
}

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast {
	f := m.NewForecast(m.Noise())
	f.Noise *= method.Settled(m.Study.Inference)
	f.Largest *= float64(m.count()) * float64(m.Clients)
	return f
}

func (m *Method) count() int { return m.Study.Inference.Partitions.Count }

// virtual reports whether each part has its own factor, as a separate client would.
func (m *Method) virtual() bool {
	in := m.Study.Inference
	return !in.Partitions.Averaged && in.Factors == study.Exact
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) {
	n := m.Family.Size()
	c := &client{
		method: m, shard: s, sum: m.Mechanism().NewAccumulator(),
		current: make([]float64, n), cavity: make([]float64, n), target: make([]float64, n),
		kept: make([]int64, n), exact: make([]int64, n),
	}
	if !m.virtual() {
		c.own = m.NewFactor(m.Messages().Exponent)
		return c, nil
	}
	c.own = m.NewTiedFactor(m.Messages().Exponent)
	c.factors, c.proposed = make([][]lambda.Wide, m.count()), make([][]int64, m.count())
	for i := range c.factors {
		c.factors[i], c.proposed[i] = make([]lambda.Wide, n), make([]int64, n)
	}
	return c, nil
}

type client struct {
	method *Method
	spent  method.Spent
	own    *method.Factor // the client's factor
	noise  dpmech.Noise

	shard    *shard.Shard
	of       []uint16 // part of each record or person
	dealt    bool     // whether the records have been divided into parts yet
	solvers  []solver.Solver
	factors  [][]lambda.Wide // factor of each part; nil if parts do not have their own factors
	proposed [][]int64       // clipped changes of the parts for the open plan, without noise
	sum      *dpmech.Accumulator

	current, cavity, target []float64 // scratch space
	kept, exact             []int64
}

// The client stores the noisy sum that it sends. If parts have their own factors, it also stores
// their changes.
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	m := c.method
	c.spent.Changes++
	m.Mechanism().Draw(&c.noise, src)
	if err := c.add(t, src); err != nil {
		return true, err
	}
	err = m.Mechanism().ReleaseSum(dst, c.exact, &c.noise, c.sum)
	copy(c.own.Proposed, dst)
	return true, err
}

// deal assigns each record, or each person, to a random part and makes the solvers. It does this
// only once.
func (c *client) deal(src *dpmech.Stream) error {
	k := c.method.count()
	if !c.dealt {
		c.of, c.dealt = make([]uint16, c.shard.Units()), true
		for i := range c.of {
			c.of[i] = uint16(src.Uint64n(uint64(k)))
		}
	}
	if c.solvers != nil {
		return nil
	}
	solvers := make([]solver.Solver, k)
	for i, s := range c.shard.Deal(c.of, k) {
		var err error
		if solvers[i], err = c.method.partSolver(s); err != nil {
			return err
		}
	}
	c.solvers = solvers
	return nil
}

func (m *Method) partSolver(s *shard.Shard) (solver.Solver, error) {
	in := m.Study.Inference
	times := 1.0
	if in.Partitions.Averaged {
		times = float64(in.Partitions.Count)
	}
	if in.Solver == study.Conjugate {
		return solver.NewConjugate(m.Model.Linear(), s).Times(times), nil
	}
	l, err := m.Model.Likelihood(s, m.Clients*in.Partitions.Count)
	if err != nil {
		return nil, err
	}
	return solver.New(in.Solver, in.Ascent, solver.Times(l, times))
}

func (c *client) add(t *method.Task, src *dpmech.Stream) error {
	c.sum.Reset()
	if err := c.deal(src); err != nil {
		return err
	}
	for k, s := range c.solvers {
		c.replaced(k, t)
		for i, whole := range t.Natural {
			c.cavity[i] = whole - c.current[i]
		}
		// If the solver diverges, the change is NaN. AddKeeping then adds zero.
		if err := solver.ProposeAlways(s, c.target, c.problem(t), src); err != nil {
			return err
		}
		if err := c.sum.AddKeeping(c.keep(k), c.change(t)); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) problem(t *method.Task) solver.Problem {
	m := c.method
	return solver.Problem{
		Family: m.Family, Mean: t.Mean, Natural: t.Natural, Cavity: c.cavity,
		Weight: t.Weight, Tied: m.Study.Inference.Factors == study.Tied,
	}
}

// replaced writes the factor that part k's new factor will replace to c.current. This is the part's
// own factor; or the client's factor, if the client stores one or the study averages over parts; or
// the part's share of a tied factor.
func (c *client) replaced(k int, t *method.Task) {
	m := c.method
	from, weight := t.Lambda, 1/float64(m.Clients)
	own, remembered := c.own.Own()
	switch {
	case c.factors != nil:
		from, weight = c.factors[k], 1
	case remembered:
		from, weight = own, 1
	case !m.Study.Inference.Partitions.Averaged:
		weight /= float64(m.count())
	}
	for i, w := range from {
		c.current[i] = w.Float(m.Messages().Exponent) * weight
	}
}

// change converts c.target, the factor that a part proposes, to the part's contribution to the
// change of the client.
func (c *client) change(t *method.Task) []float64 {
	share := 1.0
	if partitions := c.method.Study.Inference.Partitions; partitions.Averaged {
		share /= float64(partitions.Count)
	}
	for i, now := range c.current {
		c.target[i] = share * (c.target[i] - now)
	}
	c.method.Setting.Coordinates.FromNatural(c.target, t.Centre)
	return c.target
}

func (c *client) keep(k int) []int64 {
	if c.proposed == nil {
		return c.kept
	}
	return c.proposed[k]
}

// The factor of each part moves by the part's own change.
func (c *client) Follow(alpha int64, centre []int64) {
	c.own.Follow(alpha, centre)
	for k, factor := range c.factors {
		c.method.Setting.Coordinates.Move(factor, c.proposed[k], alpha, centre)
	}
}

func (c *client) Spent() method.Spent { return c.spent }

func (c *client) Ahead() int { return 1 }

func (c *client) Reuses() bool { return false }
