package descent

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/steps"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Method implements [method.Method] for studies in which each client runs gradient descent on its
// own records.
type Method struct {
	*steps.Base
	method.Moves
	gradients *steps.Gradients
	batches   batches
	start     *dpmech.GaussianSum // mechanism for the starting statistics; nil if clients start at q
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	g, err := steps.NewGradients(s, false)
	if err != nil {
		return nil, err
	}
	return func(multiplier float64) (method.Method, error) {
		m, err := newMethod(g, multiplier)
		if err != nil {
			return nil, fmt.Errorf("%w (a vector is a record's gradient, or its site)", err)
		}
		if g.Study.Inference.Descent.Sampling == study.PublishedSampling {
			return newPublished(m)
		}
		return m, nil
	}, nil
}

func newMethod(g *steps.Gradients, multiplier float64) (*Method, error) {
	s := g.Setting
	b := batches{g}
	m := &Method{gradients: g, batches: b, Moves: method.Moves{Coordinates: s.Coordinates}}
	var err error
	m.Base, err = steps.New(s, steps.Config{Steps: g.Steps, Dim: g.Size(), Releases: 1, Records: b.stated(), Sampling: b.sampling}, multiplier)
	if err != nil {
		return nil, err
	}
	if m.start, err = m.newStart(multiplier); err != nil {
		return nil, err
	}
	return m, m.SetMessages(s.FactorMessages(nil))
}

// newStart returns the mechanism that releases the statistics from which clients start, or nil. The
// study gives their share of the total μ². The μ² of T gradient steps with sampling rate q and
// noise multiplier σ is taken as
//
//	μ² = q²T/σ².
//
// This is exact for full batches (see [accountant]) and approximate for others. The stated cost
// does not depend on it, because the accountant composes the costs of the statistics and of the
// steps.
func (m *Method) newStart(multiplier float64) (*dpmech.GaussianSum, error) {
	share := m.Study.Inference.Descent.StartShare
	if share == 0 {
		return nil, nil
	}
	d := m.Steps()
	muSquared := d.Rate * d.Rate * float64(d.Total) / (multiplier * multiplier)
	start, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim:             m.Model.Linear().StatisticsSize(),
		Clip:            m.RecordBound() / 2,
		NoiseMultiplier: math.Sqrt((1-share)/(share*muSquared)) * float64(m.Study.Privacy.Rows()),
		Shares:          1,
		Terms:           m.Study.Federation.MaxRecords,
		Releases:        1,
		Adjacency:       m.Study.Privacy.Adjacency,
		PerUnit:         m.PerUnit(),
	})
	if err != nil {
		return nil, fmt.Errorf("%w (a release has the statistics from which a client starts)", err)
	}
	return start, nil
}

// Start implements [method.Stepped].
func (m *Method) Start() (*dpmech.GaussianSum, bool) { return m.start, m.start != nil }

func (m *Method) starts() int {
	if m.start != nil {
		return 1
	}
	return 0
}

// Releases implements [method.Method].
func (m *Method) Releases() int { return m.starts() + m.Steps().Total }

// ReleasesAfter implements [method.Method].
func (m *Method) ReleasesAfter(rounds int) int {
	if rounds == 0 {
		return 0
	}
	return m.starts() + m.Base.ReleasesAfter(rounds)
}

// Event implements [method.Method].
func (m *Method) Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return m.eventOf(m.Sampled(), shares, adjacency, releases)
}

func (m *Method) eventOf(sampled *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if m.start == nil || releases == 0 {
		return steps.EventOf(sampled, shares, adjacency, releases)
	}
	step, err := sampled.SharedEventFor(1, shares, adjacency)
	event := accountant.Composed{m.start.EventFor(1, adjacency), accountant.Repeated{Event: step, Times: releases - 1}}
	return accountant.Repeated{Event: event, Times: 1}, err
}

// Increment implements [method.Method].
func (m *Method) Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	if m.start == nil || from > 0 || to == from {
		return m.Base.Increment(shares, adjacency, from, to)
	}
	after, err := m.Base.Increment(shares, adjacency, 1, to)
	return accountant.Composed{m.start.EventFor(1, adjacency), after}, err
}

// Adjacencies implements [method.Method]. If the batch size is a fraction of the client's number of
// records, so is the divisor of the sums. If that number is private, no bound on the cost is known.
// Adjacencies then returns only the study's own adjacency.
func (m *Method) Adjacencies() []accountant.Adjacency {
	if m.batches.fixed() && !m.batches.privateSize() {
		return []accountant.Adjacency{m.Study.Privacy.Adjacency}
	}
	return m.Base.Adjacencies()
}

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast { return m.NewForecast(m.AveragedNoise()) }

// AveragedNoise implements [method.Stepped].
func (m *Method) AveragedNoise() float64 { return m.gradients.AveragedNoise(m.Noise().SD) }

// ClosedFormNoise implements [method.Stepped].
func (m *Method) ClosedFormNoise() float64 {
	return m.gradients.ClosedFormNoise(m.Noise().SD, m.Steps().Round)
}

// CheckShard implements [method.Method].
func (m *Method) CheckShard(s *shard.Shard) error {
	if nominal := m.Study.Federation.NominalRecords; m.batches.privateSize() && s.Len() < nominal {
		return fmt.Errorf("the shard has fewer records than federation.nominal_records = %d, for which batches of a fixed size were made: lower it", nominal)
	}
	return nil
}

// Options returns the options of the descent that a client with the given number of records runs in
// each round.
func (m *Method) Options(records int) solver.DPSVIOptions {
	return m.gradients.Options(m.Steps().Round, m.batches.rate(records))
}

// NewSolver implements [method.Refining].
func (m *Method) NewSolver(s *shard.Shard) (solver.Solver, error) {
	program, err := m.Model.Records(s, m.Clients)
	if err != nil {
		return nil, err
	}
	mechanism, err := m.For(s)
	if err != nil {
		return nil, err
	}
	o := m.Options(s.Len())
	if m.start != nil {
		o.Start = solver.NewStart(m.Model.Linear(), s, m.start)
	}
	refine, err := solver.NewDPSVI(program, mechanism, o)
	if err != nil {
		return nil, err
	}
	return m.SplitPrior(refine), nil
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) { return method.NewRefined(m, s) }

// NewSolverClient implements [method.Refining].
func (m *Method) NewSolverClient(s solver.Solver) method.Client {
	return &client{steps.NewClient(m, m.Base, s), m}
}
