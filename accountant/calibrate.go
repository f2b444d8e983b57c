package accountant

import (
	"errors"
	"fmt"
	"math"
)

// Target is a privacy target (ε, δ), with Epsilon > 0 and 0 < Delta < 1.
type Target struct {
	Epsilon float64
	Delta   float64
}

// Check returns an error if Epsilon or Delta is out of range.
func (t Target) Check() error {
	var err error
	if !(t.Delta > 0 && t.Delta < 1) {
		err = fmt.Errorf("delta must lie in (0, 1), got %g", t.Delta)
	}
	return errors.Join(positive("epsilon", t.Epsilon), err)
}

// A Calibration is the parameter value for which a mechanism meets a target.
type Calibration struct {
	Value float64 // calibrated noise multiplier, sampling rate or count
	Cost  Bound   // bounds on ε at the target's δ; Cost.Upper is at most the target's ε
	Left  float64 // target's ε − Cost.Lower, an upper bound on the part of the target's ε that is not used
}

// CalibrateNoise returns the smallest noise multiplier for which the event that mechanism returns
// meets the target. The cost must fall as the noise grows. The result is accurate to a few parts in
// 10⁴. If all releases are Gaussian, it is accurate to one part in 10⁹. It always meets the target,
// because [Account] has checked it.
func CalibrateNoise(target Target, mechanism func(noiseMultiplier float64) (Event, error)) (Calibration, error) {
	c, err := calibrate(target, -20*math.Ln2, 40*math.Ln2, func(x float64) (Event, float64, error) {
		e, err := mechanism(math.Exp(x))
		return e, math.Exp(x), err
	})
	if err != nil {
		return c, fmt.Errorf("calibrate the noise multiplier: %w", err)
	}
	return c, nil
}

// CalibrateRate returns the largest sampling rate in [10⁻⁹, 1] for which the event meets the
// target. It is accurate to a few parts in 10⁴. The cost must grow with the rate.
func CalibrateRate(target Target, mechanism func(rate float64) (Event, error)) (Calibration, error) {
	c, err := calibrate(target, 0, 9*math.Ln10, func(x float64) (Event, float64, error) {
		e, err := mechanism(math.Exp(-x))
		return e, math.Exp(-x), err
	})
	if err != nil {
		return c, fmt.Errorf("calibrate the sampling rate: %w", err)
	}
	return c, nil
}

// calibrate returns the least x in [low, high] for which the event meets the target. It first
// searches with estimates of the cost. It then increases x until the certified cost meets the
// target.
func calibrate(target Target, low, high float64, event func(x float64) (e Event, value float64, err error)) (Calibration, error) {
	if err := target.Check(); err != nil {
		return Calibration{}, err
	}
	account := func(x float64) (p Profile, value float64, err error) {
		e, value, err := event(x)
		if err != nil {
			return p, 0, err
		}
		p, err = Account(e)
		return p, value, err
	}
	certified := func(x float64) (Calibration, error) {
		p, value, err := account(x)
		if err != nil {
			return Calibration{}, err
		}
		b, err := p.EpsilonBy(Planned, target.Delta)
		return Calibration{Value: value, Cost: b, Left: target.Epsilon - b.Lower}, err
	}
	// If x is far from the solution, the mechanism may return an error. Its cost then counts as
	// infinite.
	gaussian := true
	var refusal error
	x, slope := estimateRoot(target.Epsilon, low, high, func(x float64) float64 {
		p, _, err := account(x)
		if err != nil {
			if refusal == nil {
				refusal = err
			}
			return math.Inf(1)
		}
		gaussian = p.Gaussian()
		return p.estimate(target.Delta)
	})
	if x == high && refusal != nil {
		return Calibration{}, refusal
	}
	goal := 1e-9
	if !gaussian {
		goal = tolerance
	}
	// The search applies Newton's method to the logarithm of the certified cost, which is nearly
	// linear. Each step aims a little below the target. Once there are two points, the slope is
	// computed from the last two.
	//
	// If a mechanism rounds σ to its lattice, the cost may be constant over distances that are much
	// longer than Newton's steps. So as long as the cost exceeds the target, each step is at least
	// twice as long as the one before.
	var best, last Calibration
	found := false
	met, missed := high, low // smallest x known to meet the target, and largest x known to miss it
	at := x
	var previous, previousExcess, least float64
	for try := range 60 {
		c, err := certified(at)
		if err != nil {
			return Calibration{}, err
		}
		last = c
		excess := math.Log(max(c.Cost.Upper, 1e-300) / target.Epsilon)
		if excess <= 0 {
			best, found, met = c, true, at
			if excess > -goal || at == low {
				return c, nil
			}
		} else {
			missed = at
			if at == high {
				break
			}
		}
		if try > 0 && at != previous && !math.IsInf(excess, 0) && !math.IsInf(previousExcess, 0) {
			if s := (previousExcess - excess) / (at - previous); s > 1e-6 {
				slope = s
			}
		}
		previous, previousExcess = at, excess
		move := (excess + goal/2) / slope
		if excess > 0 {
			move = max(move, least)
			least = 2 * move
		}
		if at += move; !(at < met) || !(at > missed) {
			if found || met < high || try < 50 {
				at = missed + (met-missed)/2
			} else {
				at = high
			}
		}
		at = min(high, max(low, at))
		if met-missed <= 1e-12 {
			break
		}
	}
	if found {
		return best, nil
	}
	return Calibration{}, fmt.Errorf("no value meets epsilon %g at delta %g: at %g the cost is still %g", target.Epsilon, target.Delta, last.Value, last.Cost.Upper)
}

// estimateRoot returns an approximation of the least x in [low, high] at which the decreasing
// function cost is at most goal. If there is no such x, it returns high. slope is the slope of −log
// cost there.
func estimateRoot(goal, low, high float64, cost func(x float64) float64) (root, slope float64) {
	value := func(x float64) float64 { return math.Log(min(max(cost(x), 1e-300), 1e300) / goal) }
	// Begin at the point of the range that is closest to 0 and move outwards, because extreme
	// parameters take long to evaluate.
	from, to := low, high
	x := min(max(0, low), high)
	a, b := math.NaN(), math.NaN()
	if v := value(x); v <= 0 {
		to, b = x, v
		for step := 0.5; to > low; step *= 2 {
			x = max(low, to-step)
			if a = value(x); a > 0 {
				from = x
				break
			}
			to, b = x, a
		}
	} else {
		from, a = x, v
		for step := 0.5; from < high; step *= 2 {
			x = min(high, from+step)
			if b = value(x); b <= 0 {
				to = x
				break
			}
			from, a = x, b
		}
	}
	if from >= to {
		return to, 1
	}
	// Use false position (with the Illinois rule) on the logarithm of the cost, which is nearly
	// linear.
	slope = 1
	for to-from > 1e-10 {
		middle := from + (to-from)/2
		if a < 50 && b > -50 {
			width := to - from
			middle = max(from+1e-3*width, min(from+width*a/(a-b), to-1e-3*width))
			slope = max(1e-3, (a-b)/width)
		}
		v := value(middle)
		if math.Abs(v) < 1e-10 {
			return middle, slope
		}
		if v > 0 {
			from, a, b = middle, v, b/2
		} else {
			to, b, a = middle, v, a/2
		}
	}
	return to, slope
}

// estimate returns an approximation of ε(δ) that is quick to compute and never far below the exact
// value.
func (p Profile) estimate(delta float64) float64 {
	if p.Gaussian() {
		b, _ := p.EpsilonBy(Exact, delta)
		return b.Upper
	}
	if b, err := p.EpsilonBy(Contour, delta); err == nil {
		return b.Upper
	}
	b, _ := p.EpsilonBy(RenyiDP, delta)
	return b.Upper
}

// CalibrateTimes returns the largest number n in [0, most] of steps, rounds or releases for which
// the event meets the target. The relative error is at most 10⁻⁴. The cost must grow with n.
func CalibrateTimes(target Target, most int, mechanism func(n int) (Event, error)) (Calibration, error) {
	c, err := calibrateCount(target, most, mechanism)
	if err != nil {
		return c, fmt.Errorf("calibrate the number of steps: %w", err)
	}
	return c, nil
}

// calibrateCount returns the largest n in [0, most] for which the event meets the target.
func calibrateCount(target Target, most int, event func(n int) (Event, error)) (Calibration, error) {
	if err := target.Check(); err != nil {
		return Calibration{}, err
	}
	try := func(n int, certify bool) (Calibration, bool, error) {
		e, err := event(n)
		if err != nil {
			return Calibration{}, false, err
		}
		p, err := Account(e)
		if err != nil {
			return Calibration{}, false, err
		}
		if !certify {
			return Calibration{}, p.estimate(target.Delta) <= target.Epsilon, nil
		}
		b, err := p.EpsilonBy(Planned, target.Delta)
		return Calibration{float64(n), b, target.Epsilon - b.Lower}, b.Upper <= target.Epsilon, err
	}
	// Double the range until the estimated cost exceeds the target. Then halve it again and again.
	low, high := 0, 1
	for high <= most {
		_, ok, err := try(high, false)
		if err != nil {
			return Calibration{}, err
		}
		if !ok {
			break
		}
		low, high = high, min(2*high, most+1)
	}
	// narrow halves the interval [low, high) until it is at most width long. The cost at low always
	// meets the target. If certify is true, the certified cost counts, and otherwise the estimate.
	narrow := func(width int, certify bool) error {
		for high-low > width {
			middle := low + (high-low)/2
			_, ok, err := try(middle, certify)
			if err != nil {
				return err
			}
			if ok {
				low = middle
			} else {
				high = middle
			}
		}
		return nil
	}
	if err := narrow(1, false); err != nil {
		return Calibration{}, err
	}
	// If there are only Rényi divergences, the estimated cost may be too high. So first move
	// upwards, and then downwards until the certified cost meets the target.
	for step := max(1, low/8); low < most; step *= 2 {
		next := min(most, low+step)
		_, ok, err := try(next, true)
		if err != nil {
			return Calibration{}, err
		}
		if !ok {
			high = next
			break
		}
		low, high = next, most+1
	}
	for step := 1; low > 0; step *= 2 {
		_, ok, err := try(low, true)
		if err != nil {
			return Calibration{}, err
		}
		if ok {
			break
		}
		low, high = max(0, low-step), low
	}
	if err := narrow(max(1, low/10_000), true); err != nil {
		return Calibration{}, err
	}
	c, ok, err := try(low, true)
	if err == nil && !ok {
		err = fmt.Errorf("no number meets epsilon %g at delta %g: the least possible cost is %g", target.Epsilon, target.Delta, c.Cost.Upper)
	}
	return c, err
}
