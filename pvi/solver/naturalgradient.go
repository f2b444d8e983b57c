package solver

import (
	"errors"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/gaussian"
)

// ErrDiverged is returned where the records lead to no proper proposal. Whether they
// do depends on them: at dataset level the site proposes no change instead.
var ErrDiverged = errors.New("no proper factor was found")

// NaturalGradient proposes the factor to which one step of natural-gradient ascent of
// the free energy leads: the gradient, at q, of the expected log likelihood in the mean
// parameters of q (conjugate-computation variational inference; Khan and Lin 2017).
// The factor is a function of q alone, so that whatever the partition, and for tied
// factors too, the federation settles where pooled variational inference does.
//
// At a point (Laplace) the derivatives are those at the mean of q, and the federation
// settles at the mode and curvature of the pooled posterior.
//
// It uses the records without noise: what it proposes must pass a gate.
type NaturalGradient struct {
	likelihood Likelihood
	point      bool

	target, trial, move []float64
}

// NewNaturalGradient returns the solver for what a shard says about θ.
func NewNaturalGradient(l Likelihood) *NaturalGradient { return &NaturalGradient{likelihood: l} }

// NewLaplace returns the solver that looks at the mean of q only.
func NewLaplace(l Likelihood) *NaturalGradient { return &NaturalGradient{likelihood: l, point: true} }

// Propose implements [Solver]. It releases nothing.
func (s *NaturalGradient) Propose(dst []float64, p Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	q, err := NewApproximation(p.Family, p.Natural)
	if err != nil {
		return nil, err
	}
	q.Point = s.point
	e := NewExpected(p.Family)
	s.likelihood.AddExpected(e, q)
	if !e.Finite() {
		return nil, fmt.Errorf("%w: the log likelihood or its derivatives overflow at the present posterior; a narrower prior keeps them finite", ErrDiverged)
	}
	if len(s.target) != len(dst) {
		s.target, s.trial, s.move = make([]float64, len(dst)), make([]float64, len(dst)), make([]float64, p.Family.Dim())
	}
	e.Factor(s.target, q.Mean, p.Family)
	return nil, s.shorten(dst, p, q.Mean)
}

const (
	// farthest is how far one step may move a record's predictor: beyond, the
	// curvature at q says nothing about where the step leads.
	farthest = 4
	halvings = 60
)

// shorten writes to dst the point on the way from the present factor to the target
// from which q, had only this client moved, would be proper and near: the target
// itself, if it can be.
func (s *NaturalGradient) shorten(dst []float64, p Problem, mean []float64) error {
	means := p.Family.Means()
	step := 1.0
	for range halvings {
		for i, now := range p.Natural {
			change := s.target[i] - (now - p.Cavity[i])
			dst[i] = now - p.Cavity[i] + step*change
			s.trial[i] = now + step*change
		}
		if means(s.move, s.trial) == nil {
			for i, m := range mean {
				s.move[i] -= m
			}
			if s.likelihood.Reach(s.move) <= farthest {
				if step == 1 {
					copy(dst, s.target)
				}
				return nil
			}
		}
		step /= 2
	}
	return fmt.Errorf("%w: no step from the present posterior leaves it proper", ErrDiverged)
}

// State implements [Solver]: everything follows from the records.
func (s *NaturalGradient) State() []byte { return nil }

// Restore implements [Solver].
func (s *NaturalGradient) Restore(state []byte) error { return stateless("natural-gradient", state) }

func stateless(name string, state []byte) error {
	if len(state) != 0 {
		return fmt.Errorf("%s solver: it has no state to restore", name)
	}
	return nil
}

// Pooled maximises the free energy of likelihoods that are all at hand, from the prior,
// by natural-gradient steps: what a federation without privacy settles at. point asks
// for the mode and its curvature instead. It writes the natural parameters to dst.
func Pooled(dst, prior []float64, family gaussian.Family, all []Likelihood, point bool) error {
	copy(dst, prior)
	l := together(all)
	s := &NaturalGradient{likelihood: l, point: point}
	target := make([]float64, len(dst))
	for range mostSteps {
		if _, err := s.Propose(target, Problem{Family: family, Natural: dst, Cavity: prior}, nil); err != nil {
			return err
		}
		var move, size float64
		for i, x := range target {
			move = max(move, abs(x+prior[i]-dst[i]))
			size = max(size, abs(dst[i]))
		}
		for i, x := range target {
			dst[i] = prior[i] + x
		}
		if move <= settled*size {
			return nil
		}
	}
	return fmt.Errorf("%w: the pooled fit still moves after %d steps", ErrDiverged, mostSteps)
}

const (
	mostSteps = 2000
	settled   = 1e-13
)

func abs(x float64) float64 { return max(x, -x) }

// together is the sum of likelihoods.
type together []Likelihood

func (t together) Dim() int { return t[0].Dim() }

func (t together) AddGradient(dst, theta []float64) (sum float64) {
	for _, l := range t {
		sum += l.AddGradient(dst, theta)
	}
	return sum
}

func (t together) AddExpected(e *Expected, q *Approximation) {
	for _, l := range t {
		l.AddExpected(e, q)
	}
}

func (t together) Reach(move []float64) (most float64) {
	for _, l := range t {
		most = max(most, l.Reach(move))
	}
	return most
}
