package solver

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/gaussian"
)

// These constants determine when a pooled fit ends. A "change" is the largest absolute change of a
// natural parameter in a step, divided by the largest absolute natural parameter.
const (
	mostSteps = 1500
	// largest number of further steps with average Hessians, if Hessians at the mean of q do not
	// settle
	mostAgain = 100
	mostRough = 100   // largest number of steps with quadrature rules of few points
	sharpest  = 1e-6  // change at which rules of many points take over
	coarsest  = 1e-3  // the same, if coarse bounds the error of the clients' rules
	local     = 0.01  // largest change after which the next q is extrapolated
	exhausted = 1e-13 // change that ends the fit
	settled   = 1e-11 // change that ends the fit if the previous change was not larger
	enough    = 1e-10 // change that ends the fit if expectations have coarse errors
	still     = 1e-7  // change that ends the fit if the free energy has not risen in plateau steps
	plateau   = 25    // number of steps without progress after which changes are taken to be rounding

	growth  = 1.3  // largest factor by which one step raises the damping or its limit
	reduced = 0.75 // factor by which the limit of the damping falls
	climbs  = 1e-6 // relative rise of the free energy above which the limit grows again
)

// These constants bound the relative error of a free energy, depending on the quadrature rules.
const (
	rounding = 1e-13
	sharp    = 1e-10 // for rules with many points
	middling = 1e-6
	coarse   = 1e-4 // for rules with few points, and for the quasi-random points of a [Program]
)

// ErrUnsettled is wrapped by the error of [Pooled] if it ends before its steps are small. The
// result is then the last q.
var ErrUnsettled = errors.New("the fit of the pooled records has not converged")

// Pooled fits q to the records of all clients in one place. It maximises the free energy of the sum
// of the log likelihoods, and writes the natural parameters of q to dst. A study without privacy
// converges to the same q. If point is true, Pooled finds the mode and the curvature there instead.
//
// If q has a full covariance, Pooled starts at the posterior mode if it finds one, and otherwise at
// the prior. It takes natural-gradient steps with Anderson acceleration: first with quadrature
// rules of few points, then with those of the clients, or with shorter rules where these are as
// accurate ([Regression.Compare]). If Hessians at the mean of q do not settle, it continues with
// average Hessians. It calls stop, if not nil, before every step. It returns [ErrUnsettled] if stop
// returns true, or after mostSteps steps.
func Pooled(dst, prior []float64, family gaussian.Family, all []Likelihood, point bool, stop func() bool) error {
	f := &fit{
		energy:  energy{likelihood: Together(all), family: family, point: point, pooled: true},
		natural: dst, prior: prior, next: make([]float64, len(dst)), stop: stop,
	}
	f.steps = &NaturalGradient{
		likelihood: f.likelihood, point: point,
		target: make([]float64, len(dst)), trial: make([]float64, len(dst)), move: make([]float64, family.Dim()),
	}
	if family.Name() != "full" || !Mode(dst, prior, all) {
		copy(dst, prior)
	}
	restore := func() {
		for _, r := range only[*Regression](all) {
			r.Restore()
		}
	}
	if !point && f.roughly() {
		for _, r := range only[*Regression](all) {
			r.Compare()
		}
		defer restore()
	}
	if f.begin() != nil {
		restore()
		copy(dst, prior)
		if err := f.begin(); err != nil {
			return err
		}
	}
	err := f.run(mostSteps)
	// Steps with the Hessian at the mean of q may not settle if the Hessian varies much over q, as
	// for the spreads of small groups.
	curved := slices.DeleteFunc(only[*Program](all), func(p *Program) bool { return !p.atMean })
	if errors.Is(err, ErrUnsettled) && len(curved) > 0 && !point && !f.stopped() {
		for _, p := range curved {
			p.atMean = false
			defer p.CurveAtMean()
		}
		if err := f.begin(); err != nil {
			return err
		}
		return f.run(mostAgain)
	}
	return err
}

func only[T Likelihood](all []Likelihood) (some []T) {
	for _, l := range all {
		if one, ok := l.(T); ok {
			some = append(some, one)
		}
	}
	return some
}

// roughly takes steps with quadrature rules of few points, and reports whether they settled. If
// not, it moves back to the old q if that has the larger free energy by the clients' rules, or if
// the new one is not finite.
func (f *fit) roughly() bool {
	start := slices.Clone(f.natural)
	f.rough = true
	err := f.begin()
	if err == nil {
		err = f.run(mostRough)
	}
	f.rough = false
	if err == nil {
		return true
	}
	_, rough, err1 := f.at(f.natural, f.prior, 1)
	_, value, err2 := f.at(start, f.prior, 1)
	if err1 != nil || err2 == nil && value > rough {
		copy(f.natural, start)
	}
	return false
}

type fit struct {
	energy
	steps    *NaturalGradient
	natural  []float64
	prior    []float64
	next     []float64
	stop     func() bool
	expected *Expected
	best     float64 // free energy of the current q
	highest  float64 // largest free energy so far
	earlier  anderson

	damping, most float64 // damping of the next step, and its limit
	flat          int     // number of steps since the free energy last rose
	last, lowest  float64 // change of q in the last step, and the smallest since begin
	stalled       int     // number of steps since the smallest change
}

// begin prepares for steps from the current q: it computes the free energy, sets the damping to 1
// and forgets earlier steps.
func (f *fit) begin() (err error) {
	if f.expected, f.best, err = f.at(f.natural, f.prior, 1); err != nil {
		return err
	}
	f.highest, f.damping, f.most = f.best, 1, 1
	f.last, f.lowest = math.Inf(1), math.Inf(1)
	f.flat, f.stalled = 0, 0
	f.earlier.reset()
	return nil
}

func (f *fit) stopped() bool { return f.stop != nil && f.stop() }

func (f *fit) run(most int) error {
	for range most {
		if f.stopped() {
			return fmt.Errorf("%w in the given time: its last step moved q by %.1g of its largest natural parameter", ErrUnsettled, f.last)
		}
		done, err := f.step()
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w after %d steps: the last one moved q by %.1g of its largest natural parameter", ErrUnsettled, most, f.last)
}

// step takes one step of the fit and reports whether the fit has settled.
func (f *fit) step() (done bool, err error) {
	change, err := f.propose()
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	tolerance := f.tolerance()
	trial, value, taken := f.extrapolate(change, tolerance)
	if !taken {
		trial, value, err = f.at(f.next, f.prior, 1)
		if err != nil || value < f.best-tolerance*(abs(f.best)+1) {
			f.earlier.reset()
			f.most = f.damping * reduced
			if f.damping /= 2; f.damping < shortest && f.last > still {
				return false, fmt.Errorf("%w: no step raises the free energy", ErrUnsettled)
			}
			return f.damping < shortest, nil // only rounding is left
		}
		copy(f.natural, f.next)
	}
	f.adapt(change, value)
	f.expected, f.best = trial, value
	done = change <= exhausted || change <= settled && change >= f.last || f.flat >= plateau && change <= still ||
		change <= enough && tolerance == coarse || f.rough && change <= f.roughEnough()
	f.last = change
	return done, nil
}

// tolerance returns the relative error of the free energies that f computes.
func (f *fit) tolerance() float64 {
	if f.rough {
		return coarse
	}
	return f.likelihood.Tolerance()
}

// roughEnough returns the change of q at which the fit continues with rules of more points.
func (f *fit) roughEnough() float64 {
	if f.likelihood.Tolerance() == coarse {
		return coarsest
	}
	return sharpest
}

// extrapolate tries the q to which the last steps point, if the plain step changes q by at most
// local. If the free energy falls by no more than tolerance below the best, it returns the
// expectations, the free energy, and true.
func (f *fit) extrapolate(change, tolerance float64) (*Expected, float64, bool) {
	if change > local {
		f.earlier.reset()
		return nil, 0, false
	}
	move := make([]float64, len(f.next))
	for i, x := range f.next {
		move[i] = (x - f.natural[i]) / f.damping
	}
	f.earlier.add(f.natural, move)
	candidate := make([]float64, len(f.next))
	if !f.earlier.next(candidate, f.weights(), f.damping) {
		return nil, 0, false
	}
	trial, value, err := f.at(candidate, f.prior, 1)
	if err != nil || value < f.best-tolerance*(abs(f.best)+1) {
		f.earlier.reset()
		return nil, 0, false
	}
	copy(f.natural, candidate)
	return trial, value, true
}

// weights returns weights for [anderson.next] that make moves along all coordinates comparable: the
// product of 1/√p over the coordinates to which a parameter belongs, where p is the coordinate's
// precision.
func (f *fit) weights() []float64 {
	d := f.family.Dim()
	pairs := f.family.Precision()
	root := make([]float64, d)
	for k, at := range pairs {
		if at[0] == at[1] {
			root[at[0]] = 1 / math.Sqrt(f.natural[d+k])
		}
	}
	weight := make([]float64, len(f.natural))
	copy(weight, root)
	for k, at := range pairs {
		weight[d+k] = root[at[0]] * root[at[1]]
	}
	return weight
}

// propose writes the natural parameters after the next plain step to f.next. It returns the
// relative change without damping.
func (f *fit) propose() (change float64, err error) {
	mean := make([]float64, f.family.Dim())
	if err := f.family.Mean(mean, f.natural); err != nil {
		return 0, err
	}
	f.expected.Factor(f.steps.target, mean, f.family)
	if err := f.steps.shorten(f.next, Problem{Family: f.family, Mean: mean, Natural: f.natural, Cavity: f.prior}, nil); err != nil {
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

// adapt chooses the damping of the next step, given the last change of q and the free energy after
// it. If changes have not become smaller in plateau steps, it assumes that steps overshoot and
// lowers the limit of the damping.
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

// AddExpected implements [Likelihood]. It computes the expectations of regressions on all CPU
// cores, with a result that does not depend on their number. Other likelihoods may share memory and
// are used one after the other.
func (t Together) AddExpected(e *Expected, q *Approximation) {
	if len(t) == 1 || len(only[*Regression](t)) < len(t) {
		for _, l := range t {
			l.AddExpected(e, q)
		}
		return
	}
	parts := make([]*Expected, runtime.GOMAXPROCS(0))
	for rest := t; len(rest) > 0; {
		some := rest[:min(len(rest), len(parts))]
		var all sync.WaitGroup
		for i, l := range some {
			all.Go(func() {
				parts[i] = NewExpected(q.Family)
				l.AddExpected(parts[i], q)
			})
		}
		all.Wait()
		for i := range some {
			e.Value += parts[i].Value
			floats.Add(e.Gradient, parts[i].Gradient)
			floats.Add(e.Hessian, parts[i].Hessian)
		}
		rest = rest[len(some):]
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
