// Package statistics is the method for conjugate models whose privacy unit is the record. Once per
// study, a client releases the noisy sum of its records' clipped statistics
// ([fedpvi/pvi/solver.ClippedAnalytical]). It computes every factor from this sum. With
// [study.Published], it releases new statistics in each round instead.
package statistics

import (
	"errors"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Method implements [method.Method] for studies in which clients release clipped and noisy
// statistics of their records.
type Method struct {
	*method.Sum
	method.Moves
	anew bool // whether clients release new statistics in each round
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	anew, releases := s.Study.Inference.Factors == study.Published, 1
	if anew {
		releases = s.Study.Inference.Rounds
	}
	return func(multiplier float64) (method.Method, error) {
		m := &Method{Moves: method.Moves{Coordinates: s.Coordinates}, anew: anew}
		var err error
		m.Sum, err = s.NewSum(dpmech.Config{
			Dim:             s.Model.Linear().StatisticsSize(),
			Clip:            clip(s),
			NoiseMultiplier: multiplier,
			Shares:          1,
			Terms:           s.Study.Federation.MaxRecords,
			Releases:        1,
			PerUnit:         s.PerUnit(),
		}, releases)
		if err != nil {
			return nil, err
		}
		return m, m.SetMessages(s.FactorMessages(m.Mechanism()))
	}, nil
}

// clip returns the clipping bound for a record's statistics. It is the study's bound divided by the
// largest number of rows per person or, if the study gives none, half of the public bound on the
// norm.
func clip(s *method.Setting) float64 {
	if c := s.Study.Privacy.Clip; c > 0 {
		return c / float64(s.Study.Privacy.Rows())
	}
	return s.RecordBound() / 2
}

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast {
	f := m.NewForecast(m.Noise())
	f.Noise *= math.Sqrt(m.Study.Federation.Combine.Loss())
	if m.anew {
		f.Noise *= method.Settled(m.Study.Inference)
	}
	return f
}

// NewSolver implements [method.Refining].
func (m *Method) NewSolver(s *shard.Shard) (solver.Solver, error) {
	if m.anew {
		return m.SplitPrior(solver.NewPublishedAnalytical(m.Model.Linear(), s, m.Mechanism())), nil
	}
	return m.SplitPrior(solver.NewClippedAnalytical(m.Model.Linear(), s, m.Mechanism())), nil
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) { return method.NewRefined(m, s) }

// NewSolverClient implements [method.Refining].
func (m *Method) NewSolverClient(s solver.Solver) method.Client {
	return &client{Refiner: m.NewRefiner(m.Messages().Exponent, s), method: m}
}

type client struct {
	*method.Refiner
	method *Method
}

// Release implements [method.Client]. If the client answers a task a second time, it uses the
// statistics that the solver has kept. This needs no new noise, so drawn is always false. If each
// answer releases new statistics, a second answer counts as another release.
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	change, err := c.Propose(t, src, &c.Charged)
	if err != nil {
		return false, err
	}
	return false, c.SendFactor(dst, change, c.method.Messages())
}

func (c *client) Reuses() bool { return !c.method.anew }

func (c *client) Check(m *method.Memory, answered int) error {
	err := method.CheckSpent(m.Spent, 0, c.method.Releases(), answered > 0)
	if err == nil && !c.method.anew && (len(m.Solver) > 0) != (m.Spent.Statistics > 0) {
		err = errors.New("statistics were charged but are missing, or are present but were not charged")
	}
	return c.CheckRefined(m, err)
}
