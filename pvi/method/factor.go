package method

import (
	"errors"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Factor is a client's factor λ_m, together with the most recent change that the client proposed.
type Factor struct {
	Proposed []int64 // the change proposed last; some methods include the noise

	setting  *Setting
	exponent int
	own      []lambda.Wide // λ_m in lattice steps; nil for a tied factor, which is λ/M
}

// NewFactor returns a client's factor before the first round, which is zero. If the study's factors
// are tied, they are not stored.
func (s *Setting) NewFactor(exponent int) *Factor {
	f := &Factor{Proposed: make([]int64, s.Family.Size()), setting: s, exponent: exponent}
	if s.Study.Inference.Factors != study.Tied {
		f.own = make([]lambda.Wide, s.Family.Size())
	}
	return f
}

// NewTiedFactor returns a tied factor, whatever the study says. A tied factor is λ/M, the share of
// one of M clients, so it need not be stored.
func (s *Setting) NewTiedFactor(exponent int) *Factor {
	return &Factor{Proposed: make([]int64, s.Family.Size()), setting: s, exponent: exponent}
}

// Own returns the factor in lattice steps, or false if the factor is tied.
func (f *Factor) Own() ([]lambda.Wide, bool) { return f.own, f.own != nil }

// Tied reports whether the factor is tied.
func (f *Factor) Tied() bool { return f.own == nil }

// Natural writes the natural parameters of the factor to dst. all must be the current λ.
func (f *Factor) Natural(dst []float64, all []lambda.Wide) {
	if f.own != nil {
		for i, w := range f.own {
			dst[i] = w.Float(f.exponent)
		}
		return
	}
	weight := 1 / float64(f.setting.Clients)
	for i, w := range all {
		dst[i] = w.Float(f.exponent) * weight
	}
}

// Follow adds alpha times the last proposed change to the factor, in coordinates relative to
// centre. A tied factor depends only on λ, so Follow does nothing.
func (f *Factor) Follow(alpha int64, centre []int64) {
	if f.own != nil {
		f.setting.Coordinates.Move(f.own, f.Proposed, alpha, centre)
	}
}

// Save writes the factor to m.
func (f *Factor) Save(m *Memory) { m.Factor, m.Proposed = f.own, f.Proposed }

// Check returns an error if the factor or the proposed change in m has the wrong length. If f is
// nil, both must be empty.
func (f *Factor) Check(m *Memory) error {
	if f == nil {
		f = new(Factor)
	}
	return errors.Join(
		phase.Within("elements of the factor", len(m.Factor), len(f.own), len(f.own)),
		phase.Within("elements of the proposal", len(m.Proposed), len(f.Proposed), len(f.Proposed)),
	)
}

// Restore copies the factor from m, which Check must have accepted.
func (f *Factor) Restore(m *Memory) {
	copy(f.own, m.Factor)
	copy(f.Proposed, m.Proposed)
}

// A Refiner is the part of a [Client] that uses a solver to compute new factors.
type Refiner struct {
	*Factor
	Solver  solver.Solver
	Charged Spent // number of releases so far

	target, current, cavity []float64 // scratch space of Propose
}

// NewRefiner returns a Refiner that uses the given solver.
func (s *Setting) NewRefiner(exponent int, refine solver.Solver) *Refiner {
	n := s.Family.Size()
	return &Refiner{
		Factor: s.NewFactor(exponent), Solver: refine,
		target: make([]float64, n), current: make([]float64, n), cavity: make([]float64, n),
	}
}

// NewRefined returns a client that uses m's solver for the records in s.
func NewRefined(m Refining, s *shard.Shard) (Client, error) {
	refine, err := m.NewSolver(s)
	if err != nil {
		return nil, err
	}
	return m.NewSolverClient(refine), nil
}

// Propose returns the change of the factor that the solver proposes, in natural parameters. The
// slice is valid until the next call. Propose adds the solver's releases to spent, even if it
// returns an error.
func (r *Refiner) Propose(t *Task, src *dpmech.Stream, spent *Spent) ([]float64, error) {
	events, err := r.Solver.Propose(r.target, r.problem(t), src)
	spent.Statistics += len(events)
	return r.change(err)
}

// ProposeAlways is Propose for solvers that do not release anything. If the solver diverges or
// panics, the change contains NaNs ([solver.ProposeAlways]).
func (r *Refiner) ProposeAlways(t *Task, src *dpmech.Stream) ([]float64, error) {
	return r.change(solver.ProposeAlways(r.Solver, r.target, r.problem(t), src))
}

func (r *Refiner) problem(t *Task) solver.Problem {
	r.Natural(r.current, t.Lambda)
	for i, q := range t.Natural {
		r.cavity[i] = q - r.current[i]
	}
	return solver.Problem{Family: r.setting.Family, Mean: t.Mean, Natural: t.Natural, Cavity: r.cavity, Weight: t.Weight, Tied: r.Tied()}
}

// change subtracts the current factor from r.target, the proposed one.
func (r *Refiner) change(err error) ([]float64, error) {
	if err != nil {
		return nil, err
	}
	for i, now := range r.current {
		r.target[i] -= now
	}
	return r.target, nil
}

// SendFactor writes a change that needs no more noise to dst and to Proposed. It returns an error
// if the change does not fit into a message.
func (r *Refiner) SendFactor(dst []int64, change []float64, m Messages) error {
	if err := m.Lattice.Truncate(dst, change, m.Limit()); err != nil {
		return fmt.Errorf("the proposed change does not fit (a smaller damping may keep q from diverging): %w", err)
	}
	copy(r.Proposed, dst)
	return nil
}

// CheckNoParts returns an error if the saved state has parts of a client's records.
func CheckNoParts(m *Memory) error {
	if m.Parts != nil {
		return errors.New("the state has parts, and the study has none")
	}
	return nil
}

// CheckSpent returns an error if a saved state has impossible numbers of releases. With wrong
// numbers, a client would release something again, or pay for fewer releases than it made. changes
// and statistics are upper limits. If atLeastOne is true, at least one of the numbers must be
// positive.
func CheckSpent(s Spent, changes, statistics int, atLeastOne bool) error {
	if s.Changes < 0 || s.Changes > changes || s.Statistics < 0 || s.Statistics > statistics {
		return fmt.Errorf("%d changes and %d statistics released: more than the study pays for, or none at all", s.Changes, s.Statistics)
	}
	if atLeastOne && s.Changes+s.Statistics == 0 {
		return errors.New("plans were answered and nothing was charged")
	}
	return nil
}

// Spent implements [Client].
func (r *Refiner) Spent() Spent { return r.Charged }

// Ahead implements [Client] for a client that makes one release per answer.
func (r *Refiner) Ahead() int { return 1 }

// Reuses implements [Client]. Every answer costs privacy.
func (r *Refiner) Reuses() bool { return false }

// Save implements [Client].
func (r *Refiner) Save(m *Memory) {
	r.Factor.Save(m)
	m.Spent, m.Solver = r.Charged, r.Solver.State()
}

// CheckRefined checks that the factor in m has the right length and that m has no parts. It joins
// rest to the error.
func (r *Refiner) CheckRefined(m *Memory, rest error) error {
	return errors.Join(r.Check(m), CheckNoParts(m), rest)
}

// Restore implements [Client]. The solver must have counted as many releases as the client was
// charged for.
func (r *Refiner) Restore(m *Memory) error {
	if err := r.Solver.Restore(m.Solver); err != nil {
		return err
	}
	if s, ok := r.Solver.(releaser); ok && s.Releases() != m.Spent.Statistics {
		err := fmt.Errorf("%d sums were released and %d charged", s.Releases(), m.Spent.Statistics)
		return errors.Join(err, s.Restore(nil)) // The client was not charged for any release, so the solver must not have taken any steps.
	}
	r.Factor.Restore(m)
	r.Charged = m.Spent
	return nil
}

// A releaser is a solver that counts the sums it has released.
type releaser interface {
	solver.Solver
	Releases() int
}
