package solver

import (
	"fmt"
	"math"

	"fedpvi/pvi/gaussian"
)

const (
	mostSteps = 5000
	settled   = 1e-11 // relative change of natural parameters at which a fit has settled if it no longer falls,
	exhausted = 1e-13 // at which it has in any case,
	enough    = 1e-10 // and at which it has if expectations are coarse
	rounding  = 1e-13 // relative, of a free energy
	coarse    = 1e-4  // relative, of one whose expectations are averages over few points
)

// Pooled maximises the free energy of likelihoods that are all at hand, from the prior,
// by natural-gradient steps: what a federation without privacy settles at. point asks
// for the mode and its curvature instead. It writes the natural parameters to dst.
func Pooled(dst, prior []float64, family gaussian.Family, all []Likelihood, point bool) error {
	copy(dst, prior)
	f := &energy{likelihood: Together(all), family: family, point: point}
	s := &NaturalGradient{likelihood: f.likelihood, point: point, target: make([]float64, len(dst)), trial: make([]float64, len(dst)), move: make([]float64, family.Dim())}
	e, best, err := f.at(dst, prior, 1)
	if err != nil {
		return err
	}
	next := make([]float64, len(dst))
	slack := f.likelihood.Tolerance()
	damping, most, last := 1.0, 1.0, math.Inf(1)
	for range mostSteps {
		q, err := NewApproximation(family, dst)
		if err != nil {
			return err
		}
		e.Factor(s.target, q.Mean, family)
		if err := s.shorten(next, Problem{Family: family, Mean: q.Mean, Natural: dst, Cavity: prior}, nil); err != nil {
			return err
		}
		var move, size float64
		for i, x := range next {
			change := x + prior[i] - dst[i]
			move, size = max(move, abs(change)), max(size, abs(dst[i]))
			next[i] = dst[i] + damping*change
		}
		trial, value, err := f.at(next, prior, 1)
		if err != nil || value < best-slack*(abs(best)+1) {
			// Beyond this size steps overshoot, also where rounding hides it.
			most = damping * reduced
			if damping /= 2; damping < shortest {
				return fmt.Errorf("%w: no step raises the free energy of the pooled fit", ErrDiverged)
			}
			continue
		}
		copy(dst, next)
		e, best = trial, value
		if move <= exhausted*size || slack == coarse && move <= enough*size || move <= settled*size && move >= last {
			return nil
		}
		last = move
		damping = min(most, damping*growth)
	}
	return fmt.Errorf("%w: the pooled fit still moves after %d steps", ErrDiverged, mostSteps)
}

const (
	growth  = 1.3  // factor by which a damping that was cut recovers
	reduced = 0.75 // share of a damping that failed that it recovers to
)

func abs(x float64) float64 { return max(x, -x) }

// Together is the sum of likelihoods.
type Together []Likelihood

// Dim implements [Likelihood].
func (t Together) Dim() int { return t[0].Dim() }

// AddGradient implements [Likelihood].
func (t Together) AddGradient(dst, theta []float64) (sum float64) {
	for _, l := range t {
		sum += l.AddGradient(dst, theta)
	}
	return sum
}

// AddExpected implements [Likelihood].
func (t Together) AddExpected(e *Expected, q *Approximation) {
	for _, l := range t {
		l.AddExpected(e, q)
	}
}

// Tolerance implements [Likelihood].
func (t Together) Tolerance() (most float64) {
	for _, l := range t {
		most = max(most, l.Tolerance())
	}
	return most
}

// Reach implements [Likelihood].
func (t Together) Reach(move []float64) (most float64) {
	for _, l := range t {
		most = math.Max(most, l.Reach(move))
	}
	return most
}
