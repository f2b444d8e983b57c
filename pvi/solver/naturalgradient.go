package solver

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/internal/guard"
)

// ErrDiverged is returned by a solver that finds no proper factor. Whether it does depends on the
// records, so an error could reveal private information. With the privacy unit client, a client
// proposes no change instead ([ProposeAlways]).
var ErrDiverged = errors.New("no proper factor was found")

// ProposeAlways calls s.Propose for a solver that uses the records without noise. If s diverges or
// panics, it fills dst with NaNs instead of returning an error, which would reveal private
// information. It returns other errors.
func ProposeAlways(s Solver, dst []float64, p Problem, src *dpmech.Stream) error {
	var err error
	fault := guard.Run(func() { _, err = s.Propose(dst, p, src) })
	if fault == nil && !errors.Is(err, ErrDiverged) {
		return err
	}
	for i := range dst {
		dst[i] = math.NaN()
	}
	return nil
}

// NaturalGradient proposes the factor after one natural-gradient step on the free energy: the
// gradient, at q, of the expected log likelihood with respect to the mean parameters of q (Khan and
// Lin 2017). It depends on q but not on the client's current factor. So the factors converge to
// those of pooled variational inference, however the records are divided among clients, even if
// factors are tied.
//
// With Laplace's approximation the derivatives are computed only at the mean of q, and q converges
// to the mode and curvature of the pooled posterior.
//
// NaturalGradient uses the records without noise. A mechanism must make the proposals private.
type NaturalGradient struct {
	stateless
	likelihood Likelihood
	point      bool

	target, trial, move []float64
}

// NewNaturalGradient returns the solver for a shard's likelihood.
func NewNaturalGradient(l Likelihood) *NaturalGradient { return &NaturalGradient{likelihood: l} }

// NewLaplace returns the solver with Laplace's approximation, with derivatives only at the mean of
// q.
func NewLaplace(l Likelihood) *NaturalGradient { return &NaturalGradient{likelihood: l, point: true} }

// Propose implements [Solver]. It releases nothing.
func (s *NaturalGradient) Propose(dst []float64, p Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	f := &energy{likelihood: s.likelihood, family: p.Family, point: s.point}
	// cavity is q without p.Weight times this client's factor, as if that many clients had the same
	// factor. If all of them make the same change, λ moves by p.Weight times the change.
	cavity := slices.Clone(p.Natural)
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
	// farthest is the largest change of a record's predictor in one step. Beyond it, the curvature
	// at q says little about the likelihood.
	farthest = 4
	shortest = 0x1p-60
)

// shorten writes to dst a factor on the line from the current factor to s.target. It halves the
// step until three conditions hold:
//
//   - The new q is near the current q ([NaturalGradient.near]).
//   - better is nil or returns true for the new q.
//   - q stays proper if all clients make the same change.
//
// The third condition is enough even if clients make different changes. λ then moves to the mean of
// the points that they checked, and the set of proper natural parameters is convex.
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
	return fmt.Errorf("%w: after any step the posterior would be improper or no better; inference.solver = \"svi\" takes steps that need not be so, and a narrower prior helps", ErrDiverged)
}

// proper reports whether q stays proper if the client's factor changes by times·(s.target −
// factor). It sets s.trial to that q's natural parameters and s.move to its mean.
func (s *NaturalGradient) proper(p Problem, means func(dst, nat []float64) error, times float64) bool {
	for i, now := range p.Natural {
		s.trial[i] = now + times*(s.target[i]-(now-p.Cavity[i]))
	}
	return means(s.move, s.trial) == nil
}

// near reports whether the q from [NaturalGradient.proper] is proper and changes no record's
// predictor by more than farthest. If q is proper, near sets s.move to the change of the mean.
func (s *NaturalGradient) near(p Problem, means func(dst, nat []float64) error, times float64) bool {
	if !s.proper(p, means, times) {
		return false
	}
	for i, m := range p.Mean {
		s.move[i] -= m
	}
	return s.likelihood.Reach(s.move) <= farthest
}
