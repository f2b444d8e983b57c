package accountant

import (
	"errors"
	"math"
	"math/cmplx"
)

// errContour is returned if the integrand falls too slowly along the contour. This happens for a
// few steps with small sampling rates.
var errContour = errors.New("contour: the moment generating function does not fall along the contour")

// maxContour limits the number of points on the contour. maxContourWork limits its product with the
// number of quadrature points.
const (
	maxContour     = 1 << 14
	maxContourWork = 1 << 23
)

// A contour has the moment generating function M of the privacy loss along a vertical line in the
// complex plane, whose real part is c > 0. It gives
//
//	δ(ε) = (1/2πi) ∫ M(s) e^(−sε) / (s(s+1)) ds
//
// for every ε (Alghamdi et al., "The Saddle-Point Method in Differential Privacy", 2023, theorem
// 3.1). The trapezoid rule is accurate to a dozen digits here, but this is not proved.
type contour struct {
	order, step float64
	logs        []complex128 // K(s) − K(c) − log s(s+1) for t = 0, step, 2·step, ..., where K = log M and s = c+it
	cumulant    float64      // K(c) = log M(c), where c is the real part of the line
	infinite    float64
}

// contour evaluates the moment generating function along a line to the left of the saddle. Let c be
// the real part of the line, and 2π/d the step. Instead of δ(ε), the trapezoid rule computes the
// sum of δ(ε + kd)e^(kcd) over all integers k. The step is so small that the terms with k ≠ 0 are
// below 10⁻¹⁵ of δ: for k < 0 because δ ≤ 1, and for k > 0 because of Chernoff's bound at the
// saddle. nats is the logarithm of the ratio between the integrand on the line and at the saddle.
// The larger it is, the less accurate is the result.
func (c *composition) contour(at saddle, nats float64) (*contour, error) {
	order := c.before(at, nats).order
	part := order / at.order
	k, _, variance := c.cumulant(order)
	line := &contour{order: order, cumulant: k, infinite: c.infinite()}
	line.step = 2 * math.Pi * at.order / max((36-at.logDelta)/part, 40/(1.02-part))
	// From 0 to a few times this frequency, the integrand falls at least as fast as a Gaussian.
	frequency := 9 / math.Sqrt(variance)
	for range 4 {
		converged, err := line.walk(c, max(4*line.step, frequency))
		if converged || err != nil {
			return line, err
		}
		frequency *= 3
	}
	return nil, errContour
}

// walk evaluates the integrand of δ(ε) along the line, up to the given frequency. As soon as the
// integrand is negligible, it returns true. If it would need too many points, it returns
// errContour.
func (l *contour) walk(c *composition, frequency float64) (bool, error) {
	n := int(min(maxContour, frequency/l.step)) + 2
	total := make([]complex128, n)
	for _, s := range c.steps {
		if mu2 := s.law.mu * s.law.mu; mu2 > 0 {
			for j := range total {
				t := float64(j) * l.step
				total[j] += complex(-s.times*mu2*t*t/2, s.times*mu2*t*(l.order+0.5))
			}
			continue
		}
		rule := s.law.moments(l.order, frequency, c.cut)
		if rule == nil || len(rule.loss)*n > maxContourWork {
			return false, errContour
		}
		rule.along(total, l.order, l.step, s.times)
	}
	l.logs = l.logs[:0]
	for j, v := range total {
		s := complex(l.order, float64(j)*l.step)
		l.logs = append(l.logs, v-cmplx.Log(s)-cmplx.Log(1+s))
		if real(l.logs[j])-real(l.logs[0]) < -40 {
			return true, nil
		}
	}
	return false, nil
}

// along adds times·(K(c+it) − K(c)) to dst for t = 0, step, 2·step, ..., where K is the logarithm
// of the moment generating function.
//
// From each t to the next, the complex weight of each loss is rotated by an angle. Half angles
// avoid cancellation in 1 − cos.
func (m *moments) along(dst []complex128, c, step, times float64) {
	k, _, _ := m.cumulant(c)
	n := len(m.loss)
	weight := make([]float64, 0, n)
	loss := make([]float64, 0, n)
	for i, l := range m.loss {
		if w := math.Exp(m.logWeight[i] + c*l - k); w > 1e-22 {
			weight, loss = append(weight, w), append(loss, l)
		}
	}
	n = len(loss)
	sin, cos := make([]float64, n), make([]float64, n)
	turnSin, turnCos := make([]float64, n), make([]float64, n)
	for i, l := range loss {
		cos[i] = 1
		turnSin[i], turnCos[i] = math.Sincos(step * l / 2)
	}
	// e^(itL) is 1 + itL plus a remainder. In effect, only the remainder is summed over the nodes.
	// The mean of L comes from cumulant, which computes it without cancellation.
	_, mean, _ := m.cumulant(c)
	var dropped float64 // mean of the tilted loss over the nodes that are used
	for i, l := range loss {
		dropped += weight[i] * l
	}
	correction := mean - dropped
	ended := math.Exp(-80 / times)
	for j := range dst {
		var fall, turn float64
		for i, w := range weight {
			s, co := sin[i], cos[i]
			fall += w * s * s
			turn += w * s * co
			sin[i] = s*turnCos[i] + co*turnSin[i]
			cos[i] = co*turnCos[i] - s*turnSin[i]
		}
		a, b := -2*fall, 2*turn+float64(j)*step*correction
		modulus := math.Log1p(2*a+a*a+b*b) / 2
		dst[j] += complex(times*modulus, times*math.Atan2(b, 1+a))
		if math.Exp(modulus) < ended {
			for i := j + 1; i < len(dst); i++ {
				dst[i] = complex(math.Inf(-1), 0)
			}
			return
		}
	}
}

// delta computes δ(ε) with the trapezoid rule.
func (l *contour) delta(epsilon float64) float64 {
	sum := -0.5 * math.Exp(real(l.logs[0]))
	for j, v := range l.logs {
		sum += math.Exp(real(v)) * math.Cos(imag(v)-float64(j)*l.step*epsilon)
	}
	return l.infinite + math.Exp(l.cumulant-l.order*epsilon)*sum*l.step/math.Pi
}

// contourEpsilon returns ε(δ) with an estimate of its error, which is the difference from a second
// contour. If there is only one step, it integrates the density directly.
func (c *composition) contourEpsilon(delta float64) (epsilon, errorEstimate float64, err error) {
	if c.length() == 1 {
		epsilon = leastEpsilon(c.steps[0].law.single, delta)
		return epsilon, epsilon * singleError, nil
	}
	if !(delta > c.infinite()) {
		return math.Inf(1), 0, nil
	}
	s, ok := c.saddleForDelta(delta - c.infinite())
	if !ok {
		return 0, 0, errContour
	}
	line, err := c.contour(s, 4)
	if err != nil {
		return 0, 0, err
	}
	epsilon, err = solveFalling(line.delta, delta, max(s.epsilon, 0), 0.1/s.order)
	if err != nil {
		return 0, 0, err
	}
	other, err := c.contour(s, 2.5)
	if err != nil {
		return 0, 0, err
	}
	// As ε grows, δ falls approximately like e^(−cε), where c is the order. So the error of ε is
	// the relative error of δ divided by c.
	return epsilon, math.Abs(other.delta(epsilon)/delta-1) / s.order, nil
}

// contourDelta returns δ(ε) with an estimate of its error, which is the difference between the
// integrals along two lines.
func (c *composition) contourDelta(epsilon float64) (delta, errorEstimate float64, err error) {
	if c.length() == 1 {
		delta = c.steps[0].law.single(epsilon)
		return delta, delta * singleError, nil
	}
	s, ok := c.saddleForEpsilon(epsilon)
	if !ok {
		return 0, 0, errContour
	}
	line, err := c.contour(s, 4)
	if err != nil {
		return 0, 0, err
	}
	delta = line.delta(epsilon)
	other, err := c.contour(s, 2.5)
	if err != nil {
		return 0, 0, err
	}
	return delta, math.Abs(other.delta(epsilon) - delta), nil
}

// solveFalling solves f(x) = goal to full precision for a positive, decreasing f. If the solution
// is negative, it returns 0. The search begins at guess. Its first step has the length width, and
// each step is twice as long as the last.
func solveFalling(f func(float64) float64, goal, guess, width float64) (float64, error) {
	low, high := guess, guess
	atLow, atHigh := f(low), 0.0
	if atLow >= goal {
		atHigh = atLow
		for n := 0; atHigh > goal; n++ {
			if low, atLow, high = high, atHigh, high+width; n > 200 {
				return 0, errContour
			}
			atHigh = f(high)
			width *= 2
		}
	} else {
		atHigh = atLow
		for n := 0; !(atLow >= goal); n++ {
			if low == 0 {
				return 0, nil
			}
			if high, atHigh, low = low, atLow, max(0, low-width); n > 200 {
				return 0, errContour
			}
			atLow = f(low)
			width *= 2
		}
	}
	if !(atLow >= goal && atHigh <= goal) {
		return 0, errContour
	}
	// Use false position (with the Illinois rule) on the logarithm of f, which is nearly linear.
	value := func(delta float64) float64 {
		if delta <= 0 {
			return -800
		}
		return math.Log(delta / goal)
	}
	a, b := value(atLow), value(atHigh)
	for range 100 {
		if high-low <= 1e-15*high || b == 0 {
			break
		}
		x := low + (high-low)*a/(a-b)
		if !(x > low && x < high) {
			x = low + (high-low)/2
			if x == low || x == high {
				break
			}
		}
		if v := value(f(x)); v > 0 {
			low, a, b = x, v, b/2
		} else {
			high, b, a = x, v, a/2
		}
	}
	return high, nil
}
