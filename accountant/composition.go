package accountant

import "math"

// A composition is a sequence of independent privacy losses, for one order of two adjacent inputs.
// P is the distribution of the output for the first input, and Q for the second.
type composition struct {
	steps []step
	// cut is the probability, under P, of the largest losses, which saddle points and contours
	// leave out. Otherwise the moments would be dominated by outputs that are too rare to affect δ.
	cut float64
	// rules are the quadrature rules from the last call to cumulant. They are accurate for orders
	// up to made.
	rules []*moments
	made  float64
}

// A step is the distribution of an event's privacy loss, with the number of times that the event
// happens.
type step struct {
	law   law
	times float64
}

// infinite returns the probability that the privacy loss is infinite. This is the probability,
// under P, of all outputs that are impossible under Q.
func (c *composition) infinite() float64 {
	var log float64
	for _, s := range c.steps {
		log += s.times * math.Log1p(-s.law.infinite)
	}
	return -math.Expm1(log)
}

// length returns the number of steps, with repetitions.
func (c *composition) length() float64 {
	var n float64
	for _, s := range c.steps {
		n += s.times
	}
	return n
}

// cumulant returns K(order) = log E e^(order·L) and its first two derivatives. L is the composed
// privacy loss without its infinite part.
func (c *composition) cumulant(order float64) (k, mean, variance float64) {
	if c.rules == nil || order > c.made || order < c.made/64 {
		c.made = order + min(order, 8) // so that later calls with slightly larger orders can use the same rules
		c.rules = c.rules[:0]
		for _, s := range c.steps {
			var rule *moments
			if s.law.mu == 0 {
				rule = s.law.moments(c.made, 0, c.cut)
			}
			c.rules = append(c.rules, rule)
		}
	}
	for i, s := range c.steps {
		if mu2 := s.law.mu * s.law.mu; mu2 > 0 {
			k += s.times * mu2 * order * (order + 1) / 2
			mean += s.times * mu2 * (order + 0.5)
			variance += s.times * mu2
			continue
		}
		a, b, v := c.rules[i].cumulant(order)
		k += s.times * a
		mean += s.times * b
		variance += s.times * v
	}
	return k, mean, variance
}

// A saddle is a point c > 0 on the real line where the integrand of δ(ε) is smallest (see
// [composition.contour]). epsilon and logDelta are approximations of ε and log δ from the leading
// term of the integral.
type saddle struct {
	order    float64 // the point c, an order of the moment generating function
	epsilon  float64
	logDelta float64
	spread   float64 // standard deviation of the loss L tilted by e^(cL)
}

// maxOrder is the order at which the search for a [saddle] gives up.
const maxOrder = 1e12

// saddleAt returns the saddle of the given order. Its ε is the one that has the saddle there.
func (c *composition) saddleAt(order float64) saddle {
	k, mean, variance := c.cumulant(order)
	epsilon := mean - 1/order - 1/(1+order)
	curvature := variance + 1/(order*order) + 1/((1+order)*(1+order))
	return saddle{
		order:    order,
		epsilon:  epsilon,
		logDelta: k - order*epsilon - math.Log(order) - math.Log1p(order) - math.Log(2*math.Pi*curvature)/2,
		spread:   math.Sqrt(variance),
	}
}

// saddleWhere returns the saddle with the least order for which beyond is true, to one part in a
// thousand. As the order grows, beyond must change at most once. If there is no such saddle, ok is
// false.
func (c *composition) saddleWhere(beyond func(saddle) bool) (s saddle, ok bool) {
	low, high := 1.0, 1.0
	s = c.saddleAt(high)
	if math.IsNaN(s.logDelta) {
		return s, false
	}
	if beyond(s) {
		for low > 1e-9 && beyond(s) {
			high, low = low, low/4
			s = c.saddleAt(low)
		}
	} else {
		for !beyond(s) {
			if high > maxOrder || math.IsNaN(s.logDelta) {
				return s, false
			}
			low, high = high, high*4
			s = c.saddleAt(high)
		}
	}
	for high > low*1.001 {
		middle := math.Sqrt(low * high)
		if s = c.saddleAt(middle); beyond(s) {
			high = middle
		} else {
			low = middle
		}
	}
	return c.saddleAt(high), true
}

// setCut sets c.cut to a mass that is negligible compared with delta.
func (c *composition) setCut(delta float64) {
	c.cut = delta * 1e-15 / c.length()
	c.rules = nil
}

// saddleForDelta returns the saddle at which δ(ε) is about delta.
func (c *composition) saddleForDelta(delta float64) (saddle, bool) {
	c.setCut(delta)
	goal := math.Log(delta)
	return c.saddleWhere(func(s saddle) bool { return s.logDelta <= goal })
}

// saddleForEpsilon returns the saddle of the integral for δ(epsilon).
func (c *composition) saddleForEpsilon(epsilon float64) (saddle, bool) {
	beyond := func(s saddle) bool { return s.epsilon >= epsilon }
	c.setCut(0)
	s, ok := c.saddleWhere(beyond)
	if ok && s.logDelta > -700 {
		c.setCut(math.Exp(s.logDelta))
		s, ok = c.saddleWhere(beyond)
	}
	return s, ok
}

// before moves the saddle s to a lower order, at which rare large losses have less weight. The
// order becomes at least half of the old one, and the integrand at most e^nats times as large.
func (c *composition) before(s saddle, nats float64) saddle {
	exponent := func(order float64) float64 {
		k, _, _ := c.cumulant(order)
		return k - order*s.epsilon
	}
	goal := exponent(s.order) + nats
	low, high := 0.5, 1.0
	if exponent(low*s.order) <= goal {
		return c.saddleAt(low * s.order)
	}
	for range 12 {
		if middle := (low + high) / 2; exponent(middle*s.order) <= goal {
			high = middle
		} else {
			low = middle
		}
	}
	return c.saddleAt(high * s.order)
}
