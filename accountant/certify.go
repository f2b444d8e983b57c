package accountant

import "math"

// [side.refine] stops when the relative distance between the certified lower and upper bounds is at
// most tolerance (for ε) or deltaTolerance (for δ).
const (
	tolerance      = 3e-4
	deltaTolerance = 8e-4
)

// tiltNats determines the order θ of the tilt, which multiplies the mass at each privacy loss L by
// e^(θL). This order is lower than that of the saddle point of δ(ε), so that rare events have less
// weight. In return, the integrand of δ(ε) grows by a factor of at most e^tiltNats, which makes the
// bounds no worse.
const tiltNats = 2

// side says which bounds to compute: both, or only the upper one. There is no case with only the
// lower bound, because its accuracy would be unknown.
type side int

const (
	both side = iota
	fromAbove
)

// refine calls read with up to five grids, each finer than the one before. It stops when the bounds
// are close. If there is only an upper bound, it compares those of two successive grids. It also
// stops when read fails because the grid is too fine.
func (s side) refine(width, tolerance, lower, upper float64, read func(width float64, upper bool) (float64, error)) (float64, float64) {
	for try := range 5 {
		high, err := read(width, true)
		if err != nil {
			break
		}
		gap := upper - high
		upper = min(upper, high)
		if s == both {
			low, err := read(width, false)
			if err != nil {
				break
			}
			lower = max(lower, low)
			gap = upper - lower
		}
		if gap <= tolerance*upper {
			break
		}
		if s == fromAbove && try == 0 {
			width /= 2
			continue
		}
		// The gap between the bounds is proportional to the square of the grid width.
		width *= max(1./16, min(0.5, math.Sqrt(0.7*tolerance*upper/gap)))
	}
	return lower, upper
}

// certifiedEpsilon returns bounds on ε(δ) that include all errors from discretisation, truncation
// and rounding. If the Fourier transform would be too large, the upper bound comes from Rényi
// divergences.
func (c *composition) certifiedEpsilon(delta float64, s side) (lower, upper float64) {
	switch rest := delta - c.infinite(); {
	case !(rest > 0):
		return math.Inf(1), math.Inf(1)
	case c.length() == 1:
		single := c.steps[0].law.single
		return leastEpsilon(func(e float64) float64 { return single(e) * (1 - singleError) }, delta),
			leastEpsilon(func(e float64) float64 { return single(e) * (1 + singleError) }, delta)
	}
	lower, upper = c.windowEpsilon(delta, s)
	if s == fromAbove && math.IsInf(upper, 1) || s == both && upper > lower*(1+10*tolerance) {
		c.setCut(0)
		renyi, _ := c.renyiEpsilon(delta)
		upper = min(upper, renyi)
	}
	return lower, upper
}

// narrowed returns bounds on ε that are at least as close as b. It computes them on finer grids,
// which are aligned with the losses. Without alignment, there would be no lower bound if the
// sampling probability is smaller than the grid width. The upper bound is for δ = low, and the
// lower bound for δ = high.
func (p Profile) narrowed(b Bound, low, high float64) Bound {
	if math.IsInf(b.Upper, 1) {
		return b
	}
	lower, upper := b.Lower, 0.0
	for _, c := range p.lower() {
		if !c.irrelevant(high, lower) {
			below, _ := c.narrow(high, lower, b.Upper, false)
			lower = max(lower, below)
		}
	}
	for _, c := range p.upper() {
		if !c.irrelevant(low, lower) {
			_, above := c.narrow(low, lower, b.Upper, true)
			upper = max(upper, above)
		}
	}
	if upper > 0 {
		b.Upper = min(b.Upper, upper)
	}
	b.Lower = min(lower, b.Upper)
	return b
}

// irrelevant reports whether this composition needs no closer bounds on ε(δ). It needs none if ε(δ)
// is at most lower, if the bounds are already exact, or if no ε meets δ.
func (c *composition) irrelevant(delta, lower float64) bool {
	if !(delta > c.infinite()) || c.length() == 1 {
		return true
	}
	renyi, _ := c.renyiEpsilon(delta)
	return renyi <= lower
}

// narrow improves one of the bounds on ε(δ). If above is true, this is the upper bound, and
// otherwise the lower. It stops when the two bounds are close, or when a finer grid hardly helps.
func (c *composition) narrow(delta, lower, upper float64, above bool) (float64, float64) {
	const close = tolerance / 4
	s, ok := c.saddleForDelta(delta - c.infinite())
	if !ok {
		return lower, upper
	}
	at := c.before(s, tiltNats)
	width := c.width(at, tolerance*max(s.epsilon, s.spread/100)) / 3
	for range 3 {
		epsilon, err := c.read(at, width, s.epsilon, delta, above, true)
		if err != nil {
			break
		}
		gap := upper - lower
		if above {
			upper = min(upper, epsilon)
		} else {
			lower = max(lower, epsilon)
		}
		if upper-lower <= close*upper || upper-lower > gap/2 && gap <= tolerance*upper {
			break
		}
		width /= 2
	}
	return lower, upper
}

// windowEpsilon returns bounds on ε(δ) that come only from the discretised composition, and not
// from Rényi divergences.
func (c *composition) windowEpsilon(delta float64, want side) (lower, upper float64) {
	s, ok := c.saddleForDelta(delta - c.infinite())
	if !ok {
		return 0, math.Inf(1)
	}
	at := c.before(s, tiltNats)
	return want.refine(c.width(at, tolerance*max(s.epsilon, s.spread/100)), tolerance, 0, math.Inf(1), func(width float64, upper bool) (float64, error) {
		return c.read(at, width, s.epsilon, delta, upper, false)
	})
}

// read returns the upper or the lower bound on ε(δ). It tilts the losses by the order of at and
// puts them on a grid of the given width. guess is an estimate of ε(δ).
func (c *composition) read(at saddle, width, guess, delta float64, upper, aligned bool) (float64, error) {
	t, err := c.tilting(at.order, width, delta*1e-6/c.length(), upper, aligned)
	if err != nil {
		return 0, err
	}
	return t.read(5*at.spread, guess, 1e-6*delta, func(w *window) (float64, bool) { return w.epsilon(delta) })
}

// read calls bound with larger and larger windows until it succeeds. The first window extends by at
// least reach to each side of the mean loss.
func (t *tilting) read(reach, guess, tail float64, bound func(w *window) (float64, bool)) (float64, error) {
	for {
		n, err := t.size(reach, guess, tail)
		if err != nil {
			return 0, err
		}
		w := t.window(n)
		x, ok := bound(w)
		w.release()
		if ok {
			return x, nil
		}
		reach = float64(n) * t.width
	}
}

// certifiedDelta returns bounds on δ(ε) that include the same errors as those of certifiedEpsilon.
func (c *composition) certifiedDelta(epsilon float64, s side) (lower, upper float64) {
	if c.length() == 1 {
		delta := c.steps[0].law.single(epsilon)
		return delta * (1 - singleError), min(1, delta*(1+singleError))
	}
	lower, upper = c.windowDelta(epsilon, s)
	if s == fromAbove && upper == 1 || s == both && upper > lower*(1+10*tolerance) {
		c.setCut(0)
		renyi, _ := c.renyiDelta(epsilon)
		upper = min(upper, renyi)
	}
	return lower, upper
}

func (c *composition) windowDelta(epsilon float64, want side) (lower, upper float64) {
	lower, upper = c.infinite()*(1-0x1p-40), 1
	s, ok := c.saddleForEpsilon(epsilon)
	if !ok || s.logDelta < -650 {
		return lower, upper
	}
	guess := math.Exp(min(0, s.logDelta))
	at := c.before(s, tiltNats)
	width := c.width(at, deltaTolerance/(1+s.order))
	cut := guess * 1e-6 / c.length()
	return want.refine(width, deltaTolerance, lower, upper, func(width float64, upper bool) (float64, error) {
		t, err := c.tilting(at.order, width, cut, upper, false)
		if err != nil {
			return 0, err
		}
		return t.read(5*at.spread, epsilon, 1e-6*guess, func(w *window) (float64, bool) { return w.delta(epsilon) })
	})
}

// width returns a grid width with which each bound differs from the exact ε by about a quarter of
// gap. In each step, cells of width h change the variance of the tilted loss by about h²/6. This
// changes ε by (θ+½)/2 times as much, where θ is the order of the tilt.
func (c *composition) width(s saddle, gap float64) float64 {
	return math.Sqrt(3 * gap / (c.length() * (s.order + 0.5)))
}

// size returns the smallest number of grid points that is enough. The grid must include all losses
// within reach of the mean, and the mass outside must change δ(ε) by at most blur.
func (t *tilting) size(reach, epsilon, blur float64) (int, error) {
	for n := 1 << 10; ; {
		span := float64(n/2-2) * t.width
		if span >= reach {
			above, below := t.outside(span)
			scale := t.logM - t.order*(t.offset+t.mean*t.width)
			seen := above * math.Exp(scale-t.order*span)
			if !t.upper {
				seen = (above + below) * math.Exp(scale-t.order*(epsilon-t.offset-t.mean*t.width))
			}
			if seen <= blur {
				return n, nil
			}
		}
		if n >= maxTransform {
			if span >= reach {
				return n, nil // a transform of this size may still leave out some mass, but the bounds account for it
			}
			return 0, errWindow
		}
		// n takes the values of all powers of two, and of 1.5 times these.
		if n&(n-1) == 0 {
			n += n / 2
		} else {
			n += n / 3
		}
	}
}
