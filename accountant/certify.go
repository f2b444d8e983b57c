package accountant

import "math"

// [side.refine] stops when the relative distance between the certified lower and upper bounds is
// at most tolerance for ε, or deltaTolerance for δ.
const (
	tolerance      = 3e-4
	deltaTolerance = 8e-4
)

// tiltNats determines the order θ of the tilt, which multiplies the mass at each privacy loss L by
// e^(θL). The order is lower than that of the saddle point of δ(ε), to give rare events less
// weight. The integrand of δ(ε) grows by a factor of at most e^tiltNats, so the bounds stay as
// good.
const tiltNats = 2

// side selects the bounds to compute: both, or only the upper one. A lower bound alone would have
// an unknown accuracy.
type side int

const (
	both side = iota
	fromAbove
)

// refine calls read with up to five grids, each finer than the last. It stops when the bounds are
// close (for an upper bound, those of two successive grids), or when read fails because the grid is
// too fine.
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

// certifiedEpsilon returns bounds on ε(δ) that include all errors of discretisation, truncation and
// rounding. Rényi divergences give the upper bound if the Fourier transform would be too large.
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

// narrowed returns bounds on ε at least as close as b, computed on finer grids that are aligned
// with the losses. Without alignment there is no lower bound if the sampling probability is smaller
// than the grid width. The upper bound is for δ = low, the lower bound for δ = high.
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

// irrelevant reports whether closer bounds on ε(δ) of the composition are unnecessary: ε(δ) is at
// most lower, the bounds are already exact, or no ε meets δ.
func (c *composition) irrelevant(delta, lower float64) bool {
	if !(delta > c.infinite()) || c.length() == 1 {
		return true
	}
	renyi, _ := c.renyiEpsilon(delta)
	return renyi <= lower
}

// narrow improves one of the bounds on ε(δ): the upper one if above is true, otherwise the lower
// one. It stops when the two are close, or when a finer grid hardly helps.
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

// windowEpsilon returns bounds on ε(δ). It uses only the discretised composition, and no Rényi
// divergences.
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

// read returns the upper or the lower bound on ε(δ). It tilts the losses by the order of at, on a
// grid of the given width. guess is an estimate of ε(δ).
func (c *composition) read(at saddle, width, guess, delta float64, upper, aligned bool) (float64, error) {
	t, err := c.tilting(at.order, width, delta*1e-6/c.length(), upper, aligned)
	if err != nil {
		return 0, err
	}
	return t.read(5*at.spread, guess, 1e-6*delta, func(w *window) (float64, bool) { return w.epsilon(delta) })
}

// read calls bound with larger and larger windows until it succeeds. The first window extends at
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

// certifiedDelta returns bounds on δ(ε) that include the same errors as the bounds of
// certifiedEpsilon.
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

// width returns a grid width for which each bound differs from the exact ε by about a quarter of
// gap. In every step, cells of width h change the variance of the tilted loss by about h²/6, and ε
// by (θ+½)/2 times this change, where θ is the order of the tilt.
func (c *composition) width(s saddle, gap float64) float64 {
	return math.Sqrt(3 * gap / (c.length() * (s.order + 0.5)))
}

// size returns the smallest sufficient number of grid points. The grid must contain all losses
// within reach of the mean, and the mass outside it must change δ(ε) by at most blur.
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
				return n, nil // a transform of this size may still leave out mass; the bounds include that mass
			}
			return 0, errWindow
		}
		// n runs through the powers of two and 1.5 times these powers.
		if n&(n-1) == 0 {
			n += n / 2
		} else {
			n += n / 3
		}
	}
}
