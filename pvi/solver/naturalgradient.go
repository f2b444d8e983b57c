package solver

import (
	"errors"
	"fmt"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
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
	f := &energy{likelihood: s.likelihood, family: p.Family, point: s.point}
	cavity := slices.Clone(p.Natural) // of as many clients like this one as the weight says
	for i, whole := range p.Cavity {
		cavity[i] -= p.Weight * (p.Natural[i] - whole)
	}
	e, value, err := f.at(p.Natural, cavity, p.Weight)
	if err != nil {
		return nil, err
	}
	if len(s.target) != len(dst) {
		s.target, s.trial, s.move = make([]float64, len(dst)), make([]float64, len(dst)), make([]float64, p.Family.Dim())
	}
	e.Factor(s.target, p.Mean, p.Family)
	if p.Tied {
		return nil, s.shorten(dst, p, nil)
	}
	slack := s.likelihood.Tolerance() * (p.Weight*abs(e.Value) + float64(len(dst)))
	return nil, s.shorten(dst, p, func(trial []float64) bool {
		_, then, err := f.at(trial, cavity, p.Weight)
		return err == nil && then >= value-slack
	})
}

const (
	// farthest is how far one step may move a record's predictor: beyond, the
	// curvature at q says nothing about where the step leads.
	farthest = 4
	shortest = 0x1p-60
)

// shorten writes to dst the factor on the way from the present one to the target at
// which q remains proper and near, and better(q) holds, if all clients change as this one
// does: the target itself, if it can be. If every client's change leaves q proper so does
// their sum, since proper precisions are a convex set.
func (s *NaturalGradient) shorten(dst []float64, p Problem, better func(trial []float64) bool) error {
	means := p.Family.Means()
	for step := 1.0; step > shortest; step /= 2 {
		if !s.near(p, means, step) || p.Weight > 0 && !s.proper(p, means, step*p.Weight) {
			continue
		}
		if better != nil && !better(s.trial) {
			continue
		}
		for i, target := range s.target {
			now := p.Natural[i] - p.Cavity[i]
			dst[i] = now + step*(target-now)
			if step == 1 {
				dst[i] = target
			}
		}
		return nil
	}
	return fmt.Errorf("%w: no step from the present posterior leaves it proper", ErrDiverged)
}

// proper reports whether q stays proper with so many times the change to the target,
// and leaves that in s.trial and its mean in s.move.
func (s *NaturalGradient) proper(p Problem, means func(dst, nat []float64) error, times float64) bool {
	for i, now := range p.Natural {
		s.trial[i] = now + times*(s.target[i]-(now-p.Cavity[i]))
	}
	return means(s.move, s.trial) == nil
}

// near reports whether q stays proper, and its mean near, with so much of the change.
func (s *NaturalGradient) near(p Problem, means func(dst, nat []float64) error, times float64) bool {
	if !s.proper(p, means, times) {
		return false
	}
	for i, m := range p.Mean {
		s.move[i] -= m
	}
	return s.likelihood.Reach(s.move) <= farthest
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
