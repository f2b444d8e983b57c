package pvi

import (
	"errors"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// parts are the records of one client dealt to K disjoint parts, each with a solver
// of its own, whose clipped changes add up to the client's (Heikkilä et al.,
// "Differentially private partitioned variational inference", 2023, section 3:
// "local averaging" and "virtual PVI clients").
//
// A part's change in a round is a function of its own records and of what is public:
// the plan, and the factor that it replaces, which follows from λ, from the client's own
// releases, or from the part's own earlier changes before noise. So a record that comes
// or goes turns one of the K clipped vectors of every round into another one and leaves
// the others alone: the sensitivity is 2C (see [dpmech.Config.Aggregates]).
//
// Which part a record is in is drawn once for the whole study, for every record by
// itself: given where the others are, which does not depend on the record, the above
// holds, and a mixture over that of pairs of releases costs no more than the worst
// of them.
type parts struct {
	protocol *Protocol
	shard    *shard.Shard
	of       []uint16 // the part of each record
	dealt    bool     // of was drawn
	solvers  []solver.Solver
	factors  [][]Wide  // of virtual clients that have their own; nil otherwise
	proposed [][]int64 // their clipped changes in the open plan, without noise
	sum      *dpmech.Accumulator

	current, cavity, target []float64 // scratch
	kept                    []int64
}

func newParts(p *Protocol, s *shard.Shard) *parts {
	n := p.family.Size()
	c := &parts{
		protocol: p, shard: s, sum: p.parts.NewAccumulator(),
		current: make([]float64, n), cavity: make([]float64, n), target: make([]float64, n),
		kept: make([]int64, n),
	}
	if p.virtualFactors() {
		k := p.study.Inference.Partitions.Count
		c.factors, c.proposed = make([][]Wide, k), make([][]int64, k)
		for i := range k {
			c.factors[i], c.proposed[i] = make([]Wide, n), make([]int64, n)
		}
	}
	return c
}

// virtualFactors reports whether parts have factors of their own.
func (p *Protocol) virtualFactors() bool {
	in := p.study.Inference
	return in.Partitions.Count > 0 && !in.Partitions.Averaged && in.Factors == study.Exact
}

// deal draws the part of every record, and makes the solvers.
func (c *parts) deal(src *dpmech.Stream) error {
	if !c.dealt {
		k := uint64(c.protocol.study.Inference.Partitions.Count)
		c.of, c.dealt = make([]uint16, c.shard.Len()), true
		for i := range c.of {
			c.of[i] = uint16(src.Uint64n(k))
		}
	}
	if c.solvers != nil {
		return nil
	}
	k := c.protocol.study.Inference.Partitions.Count
	solvers := make([]solver.Solver, k)
	for i, s := range c.shard.Deal(c.of, k) {
		var err error
		if solvers[i], err = c.protocol.partSolver(s); err != nil {
			return err
		}
	}
	c.solvers = solvers
	return nil
}

// partSolver returns the solver of one part.
func (p *Protocol) partSolver(s *shard.Shard) (solver.Solver, error) {
	in := p.study.Inference
	times := 1.0
	if in.Partitions.Averaged {
		times = float64(in.Partitions.Count)
	}
	if in.Solver == study.Conjugate {
		return solver.NewConjugate(p.model.Linear(), s).Times(times), nil
	}
	l, err := p.model.Likelihood(s, len(p.roster.Clients)*in.Partitions.Count)
	if err != nil {
		return nil, err
	}
	return solver.New(in.Solver, in.Ascent, solver.Times(l, times))
}

// add adds up the changes that the parts propose. The factor of the client, if it
// remembers one, is own.
func (c *parts) add(q *posterior, own []Wide, plan *Plan, src *dpmech.Stream) error {
	c.sum.Reset()
	if err := c.deal(src); err != nil {
		return err
	}
	for k, s := range c.solvers {
		c.replaced(k, q, own)
		for i, whole := range q.natural() {
			c.cavity[i] = whole - c.current[i]
		}
		_, err := s.Propose(c.target, c.problem(q, plan), src)
		if errors.Is(err, solver.ErrDiverged) {
			// That the records lead nowhere is private: it counts as no change.
			fill(c.target, math.NaN())
			err = nil
		}
		if err != nil {
			return err
		}
		if err := c.sum.AddKeeping(c.keep(k), c.change(plan)); err != nil {
			return err
		}
	}
	return nil
}

func (c *parts) problem(q *posterior, plan *Plan) solver.Problem {
	p := c.protocol
	return solver.Problem{
		Family: p.family, Mean: q.mean(), Natural: q.natural(), Cavity: c.cavity,
		Weight: p.weight(plan), Tied: p.study.Inference.Factors == study.Tied,
	}
}

// replaced writes the factor that part k's proposal takes the place of: that of the
// client if parts speak for it, or the part's own, or its share of the tied one.
func (c *parts) replaced(k int, q *posterior, own []Wide) {
	p := c.protocol
	from, weight := q.lambda, 1/float64(len(p.roster.Clients))
	switch {
	case c.factors != nil:
		from, weight = c.factors[k], 1
	case own != nil:
		from, weight = own, 1
	case !p.study.Inference.Partitions.Averaged:
		weight /= float64(p.study.Inference.Partitions.Count)
	}
	for i, w := range from {
		c.current[i] = w.Float(p.exponent) * weight
	}
}

// change turns the target into what the part adds to the change of the client, in
// clipping coordinates.
func (c *parts) change(plan *Plan) []float64 {
	share := 1.0
	if partitions := c.protocol.study.Inference.Partitions; partitions.Averaged {
		share /= float64(partitions.Count)
	}
	for i, now := range c.current {
		c.target[i] = share * (c.target[i] - now)
	}
	if c.protocol.centred() {
		c.protocol.coordinates.FromNatural(c.target, plan.Centre)
	}
	return c.target
}

// keep returns where the clipped change of part k is kept.
func (c *parts) keep(k int) []int64 {
	if c.proposed == nil {
		return c.kept
	}
	return c.proposed[k]
}

// settle moves the factors of virtual clients by what they proposed.
func (c *parts) settle(alpha int64, centre []int64) {
	for k, factor := range c.factors {
		c.protocol.coordinates.Move(factor, c.proposed[k], alpha, centre)
	}
}
