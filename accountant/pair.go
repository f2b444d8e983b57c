package accountant

import "math"

// A pair is two densities p and q on the line. The privacy loss log p(x)/q(x) must rise with x. An
// attacker sees x, and guesses whether it was drawn from p or from q.
type pair interface {
	densities(x float64) (p, q float64)
	loss(x float64) float64
	lossAndLog(x float64) (loss, logDensity float64) // privacy loss at x, and log p(x), which is finite even if p(x) underflows
	at(loss float64) float64                         // x at which the privacy loss has the given value; ∓Inf if there is none because the value is too small or too large
	tail(x float64) float64                          // probability, under p, of all values to the right of x
	right(mass float64) float64                      // an x with tail(x) ≤ mass
	reach(order float64) (lo, hi float64)            // outside this interval, p, q and p·(p/q)^order are negligible
	scale(order float64) (smooth, analytic float64)  // smooth is the distance over which the densities change noticeably; analytic is at most the distance from the line to the nearest singularity of the loss
}

// span is how many standard deviations an interval extends to each side. For a normal distribution,
// it leaves out a mass of about 10⁻²³.
const span = 10

// mixture is one step of the Gaussian mechanism, with unit sensitivity, on a sample in which the
// record is included with probability q = rate. The pair is (1−q)N(0,σ²) + qN(1,σ²) against
// N(0,σ²). At rate 1, it is the Gaussian mechanism.
type mixture struct{ rate, sigma float64 }

func (m mixture) exponent(x float64) float64 { return (2*x - 1) / (2 * m.sigma * m.sigma) }

func (m mixture) densities(x float64) (p, q float64) {
	c, z, y := invSqrt2Pi/m.sigma, x/m.sigma, (x-1)/m.sigma
	q = c * math.Exp(-z*z/2)
	return (1-m.rate)*q + m.rate*c*math.Exp(-y*y/2), q
}

func (m mixture) lossAndLog(x float64) (loss, logDensity float64) {
	loss = m.loss(x)
	return loss, logNormal(x, m.sigma) + loss
}

// logNormal returns the log density of N(0, σ²) at x.
func logNormal(x, sigma float64) float64 {
	z := x / sigma
	return -z*z/2 - math.Log(sigma) - logSqrt2Pi
}

func (m mixture) loss(x float64) float64 { return softLoss(m.rate, m.exponent(x)) }

// softLoss returns log(1 − q + q·e^u).
func softLoss(q, u float64) float64 {
	switch {
	case q == 1:
		return u
	case u < 36:
		return math.Log1p(q * math.Expm1(u))
	}
	return u + math.Log(q+(1-q)*math.Exp(-u))
}

func (m mixture) at(loss float64) float64 {
	u := loss
	if m.rate < 1 {
		if loss < 36 {
			u = math.Log1p(max(-1, math.Expm1(loss)/m.rate))
		} else {
			u = loss - math.Log(m.rate) + math.Log1p(-(1-m.rate)*math.Exp(-loss))
		}
	}
	return m.sigma*m.sigma*u + 0.5
}

func (m mixture) tail(x float64) float64 {
	return (1-m.rate)*normalCDF(-x/m.sigma) + m.rate*normalCDF((1-x)/m.sigma)
}

func (m mixture) right(mass float64) float64 { return 1 + m.sigma*normalTail(mass) }

// normalTail returns a z ≥ 1 that a standard normal variable exceeds with probability at most mass.
// It follows from Φ(−z) ≤ e^(−z²/2)/2.
func normalTail(mass float64) float64 { return math.Sqrt(max(1, -2*math.Log(2*mass))) }

// share returns the posterior probability that an output x of the mixture (1−q)N(0,σ²) + qN(1,σ²)
// comes from N(1,σ²). u is the log ratio between the densities of N(1,σ²) and N(0,σ²) at x.
func share(q, u float64) float64 { return 1 / (1 + (1-q)/q*math.Exp(-u)) }

// reach returns an interval outside of which p, q and p·(p/q)^c are negligible, where c is order.
// The mode of p·(p/q)^c solves x = (1+c)·share(x). The iteration begins above the largest mode, and
// converges to it from above.
func (m mixture) reach(order float64) (lo, hi float64) {
	x := 1 + order
	for range 60 {
		x = (1 + order) * share(m.rate, m.exponent(x))
	}
	return -span * m.sigma, falls(max(1, x), 1+order+span*m.sigma, func(x float64) float64 {
		return logNormal(x, m.sigma) + (1+order)*m.loss(x)
	})
}

// falls returns a point between start and end at which the decreasing log density f is span²/2
// lower than f(start).
func falls(start, end float64, f func(float64) float64) float64 {
	goal := f(start) - span*span/2
	for range 30 {
		if middle := (start + end) / 2; f(middle) > goal {
			start = middle
		} else {
			end = middle
		}
	}
	return end
}

func (m mixture) scale(float64) (smooth, analytic float64) {
	if m.rate == 1 { // at rate 1 the loss is linear in x
		return m.sigma, m.sigma
	}
	return m.sigma, m.sigma * m.sigma
}

// opposed is one step of the Gaussian mechanism on a Poisson sample, if the record is replaced by
// its opposite: (1−q)N(0,σ²) + qN(1,σ²) against (1−q)N(0,σ²) + qN(−1,σ²) (Lebeda, Regehr, Kamath,
// Steinke 2024, proposition 13).
type opposed struct{ rate, sigma float64 }

func (o opposed) exponents(x float64) (plus, minus float64) {
	d := 2 * o.sigma * o.sigma
	return (2*x - 1) / d, (-2*x - 1) / d
}

func (o opposed) densities(x float64) (p, q float64) {
	c, z, y, w := invSqrt2Pi/o.sigma, x/o.sigma, (x-1)/o.sigma, (x+1)/o.sigma
	base := (1 - o.rate) * c * math.Exp(-z*z/2)
	return base + o.rate*c*math.Exp(-y*y/2), base + o.rate*c*math.Exp(-w*w/2)
}

func (o opposed) lossAndLog(x float64) (loss, logDensity float64) {
	plus, minus := o.exponents(x)
	more, less := softLoss(o.rate, plus), softLoss(o.rate, minus)
	return more - less, logNormal(x, o.sigma) + more
}

func (o opposed) loss(x float64) float64 {
	plus, minus := o.exponents(x)
	return softLoss(o.rate, plus) - softLoss(o.rate, minus)
}

// at returns the x at which the privacy loss is l = loss. It solves
//
//	(1−q)·sinh(l/2) = q·e^(−1/2σ²)·sinh(x/σ² − l/2)
//
// where q is the sampling rate.
func (o opposed) at(loss float64) float64 {
	s2 := o.sigma * o.sigma
	half := math.Abs(loss) / 2
	y := half
	if o.rate < 1 && half > 0 {
		// v is log((1−q)/q·e^(1/2σ²)·sinh(half)).
		v := math.Log((1-o.rate)/o.rate) + 1/(2*s2)
		if half < 1 {
			v += math.Log(math.Sinh(half))
		} else {
			v += half - math.Ln2 + math.Log1p(-math.Exp(-2*half))
		}
		if v > 300 {
			y += v + math.Ln2
		} else {
			y += math.Asinh(math.Exp(v))
		}
	}
	return math.Copysign(s2*y, loss)
}

func (o opposed) tail(x float64) float64     { return mixture(o).tail(x) }
func (o opposed) right(mass float64) float64 { return mixture(o).right(mass) }

func (o opposed) reach(order float64) (lo, hi float64) {
	_, minus := o.exponents(0)
	most := order * share(o.rate, minus)
	x := 1 + order + most
	for range 60 {
		plus, _ := o.exponents(x)
		x = (1+order)*share(o.rate, plus) + most
	}
	return -1 - span*o.sigma, falls(max(1, x), 1+order+most+span*o.sigma, func(x float64) float64 {
		loss, logDensity := o.lossAndLog(x)
		return logDensity + order*loss
	})
}

func (o opposed) scale(float64) (smooth, analytic float64) { return o.sigma, o.sigma * o.sigma }

// reversed is the mixture with p and q exchanged and the line reflected. It describes a record that
// is added instead of removed.
type reversed struct{ mixture }

func (r reversed) densities(x float64) (p, q float64) {
	q, p = r.mixture.densities(-x)
	return p, q
}

func (r reversed) lossAndLog(x float64) (loss, logDensity float64) {
	return r.loss(x), logNormal(x, r.sigma)
}
func (r reversed) loss(x float64) float64     { return -r.mixture.loss(-x) }
func (r reversed) at(loss float64) float64    { return -r.mixture.at(-loss) }
func (r reversed) tail(x float64) float64     { return normalCDF(-x / r.sigma) }
func (r reversed) right(mass float64) float64 { return r.sigma * normalTail(mass) }

// reach returns an interval outside of which p, q and p·(p/q)^c are negligible, where c is order.
// The logarithm of p·(p/q)^c is concave, and its maximum is at the x that solves x = c·share(−x).
// From there, p·(p/q)^c falls at least as fast as p.
func (r reversed) reach(order float64) (lo, hi float64) {
	low, high := 0.0, order*share(r.rate, r.exponent(0))
	for range 60 {
		if x := low + (high-low)/2; x < order*share(r.rate, r.exponent(-x)) {
			low = x
		} else {
			high = x
		}
	}
	return -1 - span*r.sigma, high + span*r.sigma
}

// laplace is the continuous part of the privacy loss of the Laplace mechanism, where ε₀ =
// sensitivity/scale. x is the loss itself, in (−ε₀, ε₀). The atoms are added by laplaceLaw.
type laplace struct{ epsilon float64 }

func (l laplace) densities(x float64) (p, q float64) {
	p = math.Exp((x-l.epsilon)/2) / 4
	return p, p * math.Exp(-x)
}

func (l laplace) lossAndLog(x float64) (loss, logDensity float64) {
	return x, (x-l.epsilon)/2 - math.Log(4)
}
func (l laplace) loss(x float64) float64  { return x }
func (l laplace) at(loss float64) float64 { return loss }
func (l laplace) tail(x float64) float64 {
	return max(0, -math.Expm1((x-l.epsilon)/2)/2)
}
func (l laplace) right(float64) float64              { return l.epsilon }
func (l laplace) reach(float64) (lo, hi float64)     { return -l.epsilon, l.epsilon }
func (l laplace) scale(order float64) (s, a float64) { return 1, 16 / (1 + order) }
