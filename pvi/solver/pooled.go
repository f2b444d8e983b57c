package solver

import (
	"fmt"
	"math"

	"fedpvi/pvi/gaussian"
)

// These constants limit a pooled fit. A change of natural parameters is measured relative to the
// largest natural parameter.
const (
	mostSteps = 1500
	exhausted = 1e-13 // a fit has settled if the change is at most this
	settled   = 1e-11 // a fit has settled if the change is at most this and no longer falls
	enough    = 1e-10 // a fit has settled if the change is at most this and expectations have coarse errors
	still     = 1e-7  // a fit has settled if the change is at most this and the free energy has not risen for plateau steps
	plateau   = 25    // number of steps without progress after which all further change is due to rounding

	growth  = 1.3  // largest factor by which the damping or its limit grows in a step
	reduced = 0.75 // factor by which the limit of the damping falls
	climbs  = 1e-6 // relative rise of the free energy above which the limit of the damping grows
)

// These are relative errors of free energies, by their cause.
const (
	rounding = 1e-13
	sharp    = 1e-10 // expectations by quadrature rules of many points
	middling = 1e-6
	coarse   = 1e-4 // expectations by quadrature rules of few points
)

// Pooled maximises the free energy of the given likelihoods by natural-gradient steps from the
// prior, and writes the natural parameters of q to dst. A study without privacy whose clients
// have these likelihoods converges to the same q. If point is true, Pooled finds the mode and
// the curvature at the mode instead.
func Pooled(dst, prior []float64, family gaussian.Family, all []Likelihood, point bool) error {
	copy(dst, prior)
	f := &fit{
		energy:  energy{likelihood: Together(all), family: family, point: point},
		natural: dst, prior: prior, next: make([]float64, len(dst)),
		damping: 1, most: 1, lowest: math.Inf(1),
	}
	f.steps = &NaturalGradient{
		likelihood: f.likelihood, point: point,
		target: make([]float64, len(dst)), trial: make([]float64, len(dst)), move: make([]float64, family.Dim()),
	}
	var err error
	if f.expected, f.best, err = f.at(dst, prior, 1); err != nil {
		return err
	}
	f.highest = f.best
	for range mostSteps {
		done, err := f.step()
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the pooled fit still moves after %d steps", ErrDiverged, mostSteps)
}

type fit struct {
	energy
	steps    *NaturalGradient
	natural  []float64
	prior    []float64
	next     []float64
	expected *Expected
	best     float64 // free energy of the present q
	highest  float64 // largest free energy so far

	damping, most float64 // damping, and its present upper limit
	flat          int     // number of steps since the free energy last rose
	last, lowest  float64 // relative change of the last step, and the smallest so far
	stalled       int     // number of steps since the smallest change so far
}

// step takes one step of the fit and reports whether the fit has settled.
func (f *fit) step() (done bool, err error) {
	change, err := f.propose()
	if err != nil {
		return false, err
	}
	trial, value, err := f.at(f.next, f.prior, 1)
	if err != nil || value < f.best-f.likelihood.Tolerance()*(abs(f.best)+1) {
		f.most = f.damping * reduced
		if f.damping /= 2; f.damping < shortest {
			return false, fmt.Errorf("%w: no step raises the free energy of the pooled fit", ErrDiverged)
		}
		return false, nil
	}
	f.adapt(change, value)
	copy(f.natural, f.next)
	f.expected, f.best = trial, value
	done = change <= exhausted || change <= settled && change >= f.last || f.flat >= plateau && change <= still ||
		change <= enough && f.likelihood.Tolerance() == coarse
	f.last = change
	return done, nil
}

// propose writes the q after the next step to f.next, and returns the size of the undamped
// change.
func (f *fit) propose() (change float64, err error) {
	q, err := NewApproximation(f.family, f.natural)
	if err != nil {
		return 0, err
	}
	f.expected.Factor(f.steps.target, q.Mean, f.family)
	if err := f.steps.shorten(f.next, Problem{Family: f.family, Mean: q.Mean, Natural: f.natural, Cavity: f.prior}, nil); err != nil {
		return 0, err
	}
	var size float64
	for i, x := range f.next {
		move := x + f.prior[i] - f.natural[i]
		change, size = max(change, abs(move)), max(size, abs(f.natural[i]))
		f.next[i] = f.natural[i] + f.damping*move
	}
	return change / size, nil
}

// adapt chooses the damping of the next step. If the changes no longer become smaller, the steps
// overshoot, and adapt lowers the upper limit of the damping.
func (f *fit) adapt(change, value float64) {
	if f.flat++; value > f.highest+rounding*abs(f.highest) {
		f.flat = 0
	}
	if value > f.highest+climbs*(abs(f.highest)+1) {
		f.most = min(1, f.most*growth)
	}
	f.highest = max(f.highest, value)
	if f.stalled++; change < 0.9*f.lowest {
		f.lowest, f.stalled = change, 0
	}
	if f.stalled >= plateau {
		f.most, f.stalled = f.most*reduced, 0
	}
	f.damping = min(f.most, f.damping*growth)
}

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
