package accountant

import "math"

// tolerance is how far apart certified bounds may be, relative to ε.
const tolerance = 3e-4

// tiltNats is how far from the saddle the tilt is, where it serves as well and
// picks up less of rare events.
const tiltNats = 2

// certifiedEpsilon returns bounds on ε(δ) that no error of discretisation,
// truncation or rounding can make false. Where the transform would have to be
// too large, Rényi divergences stand in for the upper bound.
func (c *composition) certifiedEpsilon(delta float64) (lower, upper float64) {
	switch rest := delta - c.infinite(); {
	case !(rest > 0):
		return math.Inf(1), math.Inf(1)
	case c.length() == 1:
		single := c.steps[0].law.single
		return leastEpsilon(func(e float64) float64 { return single(e) * (1 - singleError) }, delta),
			leastEpsilon(func(e float64) float64 { return single(e) * (1 + singleError) }, delta)
	}
	lower, upper = c.windowEpsilon(delta)
	if upper > lower*(1+10*tolerance) {
		renyi, _ := c.renyiEpsilon(delta)
		upper = min(upper, renyi)
	}
	return lower, upper
}

// windowEpsilon refines the grid until the bounds meet, or it is too fine.
func (c *composition) windowEpsilon(delta float64) (lower, upper float64) {
	lower, upper = 0, math.Inf(1)
	s, ok := c.saddleForDelta(delta - c.infinite())
	if !ok {
		return lower, upper
	}
	at := c.before(s, tiltNats)
	width := c.width(at, max(s.epsilon, s.spread/100))
	for range 4 {
		high, err := c.read(at, width, s.epsilon, delta, true)
		if err != nil {
			break
		}
		low, err := c.read(at, width, s.epsilon, delta, false)
		if err != nil {
			upper = min(upper, high)
			break
		}
		lower, upper = max(lower, low), min(upper, high)
		if upper-lower <= tolerance*upper {
			break
		}
		width *= refined(lower, upper)
	}
	return lower, upper
}

// read returns one of the bounds on ε(δ) with a given tilt and grid.
func (c *composition) read(at saddle, width, guess, delta float64, upper bool) (float64, error) {
	t := c.tilting(at.order, width, delta*1e-6/c.length(), upper)
	for reach := 5 * at.spread; ; {
		n, err := t.size(reach, guess, 1e-6*delta)
		if err != nil {
			return 0, err
		}
		if epsilon, ok := t.window(n).epsilon(delta); ok {
			return epsilon, nil
		}
		reach = float64(n) * t.width
	}
}

// certifiedDelta returns such bounds on δ(ε).
func (c *composition) certifiedDelta(epsilon float64) (lower, upper float64) {
	if c.length() == 1 {
		delta := c.steps[0].law.single(epsilon)
		return delta * (1 - singleError), min(1, delta*(1+singleError))
	}
	lower, upper = c.windowDelta(epsilon)
	if upper > lower*(1+10*tolerance) {
		renyi, _ := c.renyiDelta(epsilon)
		upper = min(upper, renyi)
	}
	return lower, upper
}

func (c *composition) windowDelta(epsilon float64) (lower, upper float64) {
	lower, upper = c.infinite()*(1-0x1p-40), 1
	s, ok := c.saddleForEpsilon(epsilon)
	if !ok || s.logDelta < -650 {
		return lower, upper
	}
	guess := math.Exp(min(0, s.logDelta))
	at := c.before(s, tiltNats)
	width := c.width(at, 1/(1+s.order))
	cut := guess * 1e-6 / c.length()
	read := func(upper bool) (float64, bool) {
		t := c.tilting(at.order, width, cut, upper)
		for reach := 5 * at.spread; ; {
			n, err := t.size(reach, epsilon, 1e-6*guess)
			if err != nil {
				return 0, false
			}
			if delta, ok := t.window(n).delta(epsilon); ok {
				return delta, true
			}
			reach = float64(n) * t.width
		}
	}
	for range 4 {
		high, ok := read(true)
		if !ok {
			break
		}
		low, ok := read(false)
		if !ok {
			upper = min(upper, high)
			break
		}
		lower, upper = max(lower, low), min(upper, high)
		if upper-lower <= tolerance*upper {
			break
		}
		width *= refined(lower, upper)
	}
	return lower, upper
}

// refined is by what to change the width of the grid: the gap falls with its
// square.
func refined(lower, upper float64) float64 {
	return max(1./16, min(0.5, math.Sqrt(0.7*tolerance*upper/(upper-lower))))
}

// width returns a grid for which each bound is expected about a quarter of
// tolerance away from the truth: cells of width h change the variance of the
// tilted loss by about h²/6, and ε by (θ+½)/2 times that in every step.
func (c *composition) width(s saddle, epsilon float64) float64 {
	return math.Sqrt(3 * tolerance * epsilon / (c.length() * (s.order + 0.5)))
}

// size returns for how many grid points at least, reaching at least so far from
// the mean, the ends of the window change δ(ε) by at most blur.
func (t *tilting) size(reach, epsilon, blur float64) (int, error) {
	for n := 1 << 10; ; {
		span := float64(n/2-2) * t.width
		if span >= reach {
			above, below := t.outside(span)
			scale := t.logM - t.order*t.mean*t.width
			seen := above * math.Exp(scale-t.order*span)
			if !t.upper {
				seen = (above + below) * math.Exp(scale-t.order*(epsilon-t.mean*t.width))
			}
			if seen <= blur {
				return n, nil
			}
		}
		if n >= maxTransform {
			if span >= reach {
				return n, nil // as good as it gets; it is charged
			}
			return 0, errWindow
		}
		// 2, 3, 4, 6, 8, ... times a power of two
		if n&(n-1) == 0 {
			n += n / 2
		} else {
			n += n / 3
		}
	}
}
