package accountant

import "math"

// A test distinguishes two adjacent inputs in one direction, that is, in one order of the two. Let
// a = e^t, and let H_a be the hockey-stick divergence in this direction. If t ≥ 0, it is δ(t),
// where δ is the direction's privacy profile. If t < 0, it is 1 − e^t + e^t·δ'(−t), where δ' is the
// profile of the reverse direction. If an attack has the false-positive rate fpr, each B(a) = H_a +
// a·fpr is an upper bound on its true-positive rate. The minimum of B is the largest possible rate.
type test struct{ forth, back *estimator }

// tests returns one test for each direction.
func tests(all []*composition) []test {
	switch len(all) {
	case 0:
		return nil
	case 1:
		e := &estimator{composition: all[0]}
		return []test{{e, e}}
	}
	e, f := &estimator{composition: all[0]}, &estimator{composition: all[1]}
	return []test{{e, f}, {f, e}}
}

// estimate returns an approximation of B(e^t), as defined for [test].
func (d test) estimate(t, fpr float64) float64 {
	if t >= 0 {
		return d.forth.delta(t) + math.Exp(t+math.Log(fpr))
	}
	return 1 - math.Exp(t)*(1-fpr-d.back.delta(-t))
}

// certified returns bounds on B(e^t), as defined for [test].
func (d test) certified(t, fpr float64) (lower, upper float64) {
	if t >= 0 {
		lower, upper = d.forth.certified(t)
		more := math.Exp(t + math.Log(fpr))
		return (lower + more) * (1 - 0x1p-40), (upper + more) * (1 + 0x1p-40)
	}
	lower, upper = d.back.certified(-t)
	factor := math.Exp(t)
	return (1 - factor*(1-fpr-lower)) * (1 - 0x1p-50), (1 - factor*(1-fpr-upper)) * (1 + 0x1p-50)
}

// best returns approximately the t at which B(e^t) is smallest (see [test]). B has only one
// minimum. Because B(a) is at least a·fpr and at least 1 − a(1 − fpr), the search can leave out all
// t at which one of these exceeds B(1).
func (d test) best(fpr float64) float64 {
	f := func(t float64) float64 { return d.estimate(t, fpr) }
	atZero := f(0)
	low := math.Log(max(1-atZero, 1e-26) / (1 - fpr))
	high := math.Log(atZero / fpr)
	const golden = 0.6180339887498949
	a, b := high-golden*(high-low), low+golden*(high-low)
	fa, fb := f(a), f(b)
	for range 34 {
		if fa <= fb {
			high, b, fb = b, a, fa
			a = high - golden*(high-low)
			fa = f(a)
		} else {
			low, a, fa = a, b, fb
			b = low + golden*(high-low)
			fb = f(b)
		}
	}
	t := (low + high) / 2
	least := f(t)
	// The hockey-stick divergence has a kink at the largest privacy loss.
	for _, end := range []float64{d.forth.most(), -d.back.most()} {
		if math.IsInf(end, 0) {
			continue
		}
		if at := f(end); at < least {
			t, least = end, at
		}
	}
	return t
}

// rise is the fraction by which B (see [test]) exceeds its minimum at the outer points of atLeast.
// It is slightly more than the distance between certified bounds, so that the lower bounds at the
// outer points are above the upper bound at the minimum.
const rise = 3 * tolerance

// atLeast returns a lower bound on the minimum of B (see [test]), which is near a = e^t. If it
// finds none, it returns 0. B is convex. So if B is larger at two points a₋ < a₊ than at a point a₀
// between them, its minimum is between a₋ and a₊. Between a₋ and a₀, B is above the line through
// its values at a₀ and a₊. Between a₀ and a₊, it is above the line through its values at a₋ and a₀.
func (d test) atLeast(t, fpr float64) float64 {
	left, right := d.risen(t, fpr, -1), d.risen(t, fpr, 1)
	if math.IsInf(left, 0) || math.IsInf(right, 0) {
		return 0
	}
	least, most := d.certified(t, fpr)
	leastLeft, mostLeft := d.certified(left, fpr)
	leastRight, mostRight := d.certified(right, fpr)
	if leastLeft < most || leastRight < most {
		return 0
	}
	ratio := -math.Expm1(left-t) / math.Expm1(right-t) // (a₀ − a₋)/(a₊ − a₀) for the three points a₋ < a₀ < a₊
	drop := max(ratio*(mostRight-least), (mostLeft-least)/ratio)
	return (least - drop) * (1 - 0x1p-40)
}

// risen returns approximately the t′ at which B(e^t′) exceeds its minimum B(e^t) by the fraction
// rise (see [test]). If side is 1, t′ is above t, and if side is −1, it is below. If there is none,
// it is infinite.
func (d test) risen(t, fpr, side float64) float64 {
	goal := d.estimate(t, fpr) * (1 + rise)
	low, high := 0.0, 1e-6
	for d.estimate(t+side*high, fpr) < goal {
		if low, high = high, 2*high; high > 100 {
			return math.Inf(1)
		}
	}
	for range 6 {
		if middle := (low + high) / 2; d.estimate(t+side*middle, fpr) < goal {
			low = middle
		} else {
			high = middle
		}
	}
	return t + side*high
}

// attacks has the tests from which the bounds on true-positive rates are computed: above for the
// upper bounds, and below for the lower.
type attacks struct {
	above, below []test
	shared       bool // whether the upper and the lower bounds come from the same tests
}

func (p Profile) attacks() attacks {
	a := attacks{above: tests(p.upper()), shared: !p.different}
	switch {
	case !p.onePair():
	case a.shared:
		a.below = a.above
	default:
		a.below = tests(p.lower())
	}
	return a
}

// rates returns bounds on the largest true-positive rate over both orders of the inputs. The lower
// bound is for the false-positive rate lowRate, and the upper bound for highRate.
func (a attacks) rates(lowRate, highRate float64) (lower, upper float64) {
	var at float64
	strongest := -1
	for i, d := range a.above {
		t := d.best(highRate)
		_, u := d.certified(t, highRate)
		if u > upper {
			upper, at, strongest = u, t, i
		}
	}
	if strongest < 0 || strongest >= len(a.below) {
		return lowRate, upper
	}
	if !a.shared || lowRate != highRate {
		at = a.below[strongest].best(lowRate)
	}
	return a.below[strongest].atLeast(at, lowRate), upper
}

// onePair reports whether the lower bounds for the two orders are about the same two inputs. Only
// then is a lower bound on a true-positive rate valid.
func (p Profile) onePair() bool {
	for _, s := range p.samples {
		switch s.event.(type) {
		case Poisson, WithoutReplacement, Laplace, Approximate:
		default:
			return false
		}
	}
	return true
}

// An estimator quickly approximates δ(ε) of a composition at many ε. It uses a few contours. Where
// these fail, it uses the leading order of the saddle-point approximation.
type estimator struct {
	*composition
	lines []anchored
	known map[float64][2]float64 // certified bounds on δ, keyed by ε
}

// anchored is a contour, with the ε near which it is accurate.
type anchored struct {
	*contour
	epsilon float64
}

// delta returns an approximation of δ(ε).
func (e *estimator) delta(epsilon float64) float64 {
	switch {
	case epsilon > e.nearMost():
		rest := e.remaining(epsilon)
		if rest == 0 {
			return e.infinite()
		}
		return rest*e.delta(e.nearMost()) + (1-rest)*e.infinite()
	case e.length() == 1:
		return e.steps[0].law.single(epsilon)
	}
	for _, l := range e.lines {
		if math.Abs(l.epsilon-epsilon)*l.order < 3 {
			return max(0, l.contour.delta(epsilon))
		}
	}
	s, ok := e.saddleForEpsilon(epsilon)
	if !ok || s.logDelta < -600 {
		return e.infinite()
	}
	leading := min(1, math.Exp(s.logDelta)+e.infinite())
	if !math.IsInf(e.most(), 1) || 9/s.spread*e.reach(s.order) > maxTurns {
		return leading
	}
	line, err := e.contour(s, 4)
	if err != nil {
		return leading
	}
	e.lines = append(e.lines, anchored{line, epsilon})
	return max(0, line.delta(epsilon))
}

// certified returns bounds on δ(ε) and stores them in known.
func (e *estimator) certified(epsilon float64) (lower, upper float64) {
	if b, ok := e.known[epsilon]; ok {
		return b[0], b[1]
	}
	lower, upper = e.certify(epsilon)
	if e.known == nil {
		e.known = make(map[float64][2]float64)
	}
	e.known[epsilon] = [2]float64{lower, upper}
	return lower, upper
}

// maxTurns limits the product of a contour's largest frequency and the range of losses. The limit
// is exceeded if a density falls almost abruptly to 0. The moment generating function then hardly
// falls along the contour, which would become too long.
const maxTurns = 1e5

// reach returns the largest loss range that a single step has.
func (e *estimator) reach(order float64) float64 {
	var most float64
	for _, s := range e.steps {
		if s.law.mu > 0 {
			continue
		}
		for _, p := range s.law.parts {
			lo, hi := p.reach(order)
			most = max(most, p.loss(min(hi, p.hi))-p.loss(max(lo, p.lo)))
		}
	}
	return most
}

func (e *estimator) certify(epsilon float64) (lower, upper float64) {
	c := composition{steps: e.steps}
	near := e.nearMost()
	if epsilon <= near {
		return c.certifiedDelta(epsilon, both)
	}
	lower, upper = c.infinite()*(1-0x1p-40), c.infinite()*(1+0x1p-40)
	if rest := e.remaining(epsilon); rest > 0 {
		_, atNear := c.certifiedDelta(near, both)
		upper += rest * atNear
	}
	return lower, upper
}

// remaining returns an upper bound on δ(ε)/δ(n) for an ε above n, where n is the result of
// nearMost. The bound holds because δ is convex in e^ε. If the privacy loss may be
// infinite, δ here is only the part that comes from finite losses.
func (e *estimator) remaining(epsilon float64) float64 {
	most, near := e.most(), e.nearMost()
	if epsilon >= most {
		return 0
	}
	return math.Expm1(epsilon-most) / math.Expm1(near-most) * (1 + 0x1p-30)
}

// nearMost returns an ε slightly below the largest loss. If the losses are not bounded, it returns
// +Inf. Between this ε and the largest loss, δ is so small that the order of the saddle point would
// be too large to compute.
func (e *estimator) nearMost() float64 {
	if e.length() == 1 {
		return e.most() * (1 - 1e-9)
	}
	return e.most() * 0.99
}

// most returns an upper bound on the largest finite loss. If there is none, it returns +Inf.
func (e *estimator) most() float64 {
	var most float64
	for _, s := range e.steps {
		if s.law.mu > 0 {
			return math.Inf(1)
		}
		var largest float64
		for _, a := range s.law.atoms {
			largest = max(largest, a.loss)
		}
		for _, p := range s.law.parts {
			if math.IsInf(p.hi, 1) {
				return math.Inf(1)
			}
			largest = max(largest, p.loss(p.hi))
		}
		most += s.times * largest
	}
	return most * (1 + 0x1p-40)
}

// gaussianRate returns a lower bound on Φ(Φ⁻¹(fpr) + μ), the true-positive rate of a threshold on a
// Gaussian release.
func gaussianRate(mu, fpr float64) float64 {
	return normalCDF(quantileBelow(fpr)+mu) * (1 - 0x1p-40)
}

// gaussianRateAbove returns an upper bound on Φ(Φ⁻¹(fpr) + μ). It is the dual of the Neyman-Pearson
// test at the threshold of the best attack.
func gaussianRateAbove(mu, fpr float64) float64 {
	if mu == 0 {
		return fpr
	}
	t := -mu*quantileBelow(fpr) - mu*mu/2
	if t >= 0 {
		return (gaussianDeltaAbove(mu, t) + math.Exp(t+math.Log(fpr))) * (1 + 0x1p-40)
	}
	return (1 - math.Exp(t)*(1-fpr-gaussianDeltaAbove(mu, -t))) * (1 + 0x1p-50)
}

// quantileBelow returns a z that is equal to Φ⁻¹(fpr) or slightly below it.
func quantileBelow(fpr float64) float64 {
	fits := func(z float64) bool { return normalCDF(z)*(1+0x1p-40) <= fpr }
	if !fits(0) {
		_, y := bisect(0, 40, func(y float64) bool { return fits(-y) })
		return -y
	}
	y, _ := bisect(0, 40, func(y float64) bool { return !fits(y) })
	return y
}
