package accountant

import (
	"math"
	"slices"
)

// moments is a quadrature rule for expectations over the privacy loss L. If it is made for an order
// c and a frequency t, it is accurate for functions that grow no faster than e^(cL) and oscillate
// no faster than e^(itL).
type moments struct {
	loss      []float64
	logWeight []float64 // logarithm of each node's mass under P
	weight    []float64 // each node's mass under P
	drop      []float64 // each node's mass under Q minus its mass under P
	lost      float64   // mass under P of the outputs with an infinite loss
}

// maxNodes is the maximum number of points in a quadrature rule. An order that needs more is too
// large to give a better bound.
const maxNodes = 1 << 18

// moments returns the quadrature rule for the loss l. If it would need more than maxNodes points,
// it returns nil. The outputs with the largest losses are left out, up to a mass of cut under P. On
// the whole line, the rule is the trapezoid rule, which converges exponentially for analytic
// functions. If a is the distance to the nearest singularity, the error is e^(−2πa/h), and the step
// h keeps it below 10⁻¹⁵ even for oscillating integrands. On any other interval, the rule is
// composite Gauss-Legendre.
func (l law) moments(order, frequency, cut float64) *moments {
	m := &moments{lost: l.infinite}
	for _, a := range l.atoms {
		m.add(a.loss, math.Log(a.mass))
	}
	for _, p := range l.parts {
		lo, hi := p.reach(order)
		hi = min(hi, p.right(cut))
		smooth, analytic := p.scale(order)
		if math.IsInf(p.lo, -1) && math.IsInf(p.hi, 1) {
			step := min(smooth/2, analytic/2.7)
			if frequency > 0 {
				step = min(smooth/8, analytic/6, 2*math.Pi/(1.6*(frequency/analytic+16/smooth)))
			}
			n, logStep := math.Ceil((hi-lo)/step), math.Log(step)
			if !(n <= maxNodes) {
				return nil
			}
			m.grow(int(n) + 1)
			for k := range int(n) + 1 {
				x := lo + float64(k)*step
				loss, log := p.lossAndLog(x)
				m.add(loss, log+logStep)
			}
			continue
		}
		lo, hi = max(lo, p.lo), min(hi, p.hi)
		if lo >= hi {
			continue
		}
		width := min(0.7*smooth, analytic)
		if frequency > 0 {
			width = min(width, 4*analytic/frequency)
		}
		panels := math.Ceil((hi - lo) / width)
		if !(panels <= maxNodes/16) {
			return nil
		}
		width = (hi - lo) / panels
		for k := range int(panels) {
			rule16.each(lo+float64(k)*width, width, func(x, weight float64) {
				loss, log := p.lossAndLog(x)
				m.add(loss, log+math.Log(weight))
			})
		}
	}
	return m
}

func (m *moments) grow(n int) {
	m.loss, m.logWeight = slices.Grow(m.loss, n), slices.Grow(m.logWeight, n)
	m.weight, m.drop = slices.Grow(m.weight, n), slices.Grow(m.drop, n)
}

func (m *moments) add(loss, logWeight float64) {
	if math.IsInf(logWeight, -1) {
		return
	}
	var weight, drop float64
	if logWeight > -745 {
		weight = math.Exp(logWeight)
	}
	switch {
	case loss < -1:
		drop = math.Exp(logWeight-loss) - weight
	case weight > 0:
		drop = weight * math.Expm1(-loss)
	}
	m.loss = append(m.loss, loss)
	m.logWeight = append(m.logWeight, logWeight)
	m.weight = append(m.weight, weight)
	m.drop = append(m.drop, drop)
}

// cumulant returns K(c) = log E e^(cL) for the finite part of the loss L. It also returns the first
// two derivatives, which are the mean and variance of the loss tilted by e^(cL). If m is nil, all
// three are NaN.
//
// E e^(cL) − 1 is computed as E[e^(cL) − 1 + c(e^(−L) − 1)], because E[e^(−L)] = 1. The terms of
// this expectation are not negative. So even if the sampling rate is low and the result is tiny,
// the relative error is small, and remains small over millions of steps.
func (m *moments) cumulant(c float64) (k, mean, variance float64) {
	if m == nil {
		return math.NaN(), math.NaN(), math.NaN()
	}
	most := math.Inf(-1)
	for _, l := range m.loss {
		most = max(most, c*l)
	}
	if most > 300 {
		return m.bigCumulant(c)
	}
	var excess, first, second float64
	for i, l := range m.loss {
		x := c * l
		var grown float64 // e^x − 1, where x is c times the node's loss
		if math.Abs(x) < 0.3 {
			grown = math.Expm1(x)
		} else {
			grown = math.Exp(x) - 1
		}
		w := m.weight[i]
		excess += w*grown + c*m.drop[i]
		first += w*l*(grown+1) + m.drop[i]
		second += w * (grown + 1) * l * l
	}
	total := 1 + excess - m.lost
	mean = first / total
	return math.Log1p(excess - m.lost), mean, max(0, second/total-mean*mean)
}

// bigCumulant is like cumulant, but also works if c is so large that e^(cL) overflows.
func (m *moments) bigCumulant(c float64) (k, mean, variance float64) {
	most := math.Inf(-1)
	for i, l := range m.loss {
		most = max(most, m.logWeight[i]+c*l)
	}
	var total, first, second float64
	for i, l := range m.loss {
		x := m.logWeight[i] + c*l - most
		if x < -45 {
			continue
		}
		t := math.Exp(x)
		total += t
		first += t * l
		second += t * l * l
	}
	mean = first / total
	return most + math.Log(total), mean, max(0, second/total-mean*mean)
}
