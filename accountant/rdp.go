package accountant

import (
	"fmt"
	"math"
)

// Renyi returns an upper bound on the Rényi divergence of e at an order above 1. Of the two orders
// of the adjacent inputs, it takes the one with the larger divergence. The quadrature is accurate
// to 12 digits, and otherwise the result is exact. Renyi returns +Inf if the order is too large to
// be useful. It also returns +Inf if the privacy loss of e may be infinite, unless there is a
// Gaussian release that is known to cost more than e (see [RandomAllocation]).
//
// For sampled Gaussians Renyi computes the moments accountant (Abadi et al., "Deep Learning with
// Differential Privacy", 2016; Mironov, Talwar, Zhang, "Rényi Differential Privacy of the Sampled
// Gaussian Mechanism", 2019) by quadrature instead of a series, and can therefore do so at any real
// order.
func Renyi(e Event, order float64) (float64, error) {
	if !(order > 1) || math.IsInf(order, 0) {
		return 0, fmt.Errorf("renyi: order must be above 1 and finite, got %g", order)
	}
	p, err := Account(e)
	if err != nil {
		return 0, fmt.Errorf("renyi: %w", err)
	}
	return p.Renyi(order), nil
}

// Renyi returns the Rényi divergence of the composition at an order above 1, like the function
// [Renyi].
func (p Profile) Renyi(order float64) float64 { return p.RenyiCurve([]float64{order})[0] }

// RenyiCurve returns the Rényi divergence at each order.
func (p Profile) RenyiCurve(orders []float64) []float64 {
	curve := make([]float64, len(orders))
	for _, c := range p.worst() {
		for i, order := range orders {
			curve[i] = max(curve[i], c.renyi(order))
		}
	}
	for i, order := range orders {
		// The max divergence between the real releases and those that are accounted is at most r =
		// p.divergence. This adds at most r·(2α−1)/(α−1) to the divergence of order α.
		curve[i] = raise(curve[i]) + up(p.divergence*(2*order-1)/(order-1))
	}
	return curve
}

// raise raises a Rényi divergence by more than its quadrature error.
func raise(x float64) float64 { return x * (1 + 1e-10) }

func (c *composition) renyi(order float64) float64 {
	if c.infinite() > 0 {
		if c = c.bounded(); c.infinite() > 0 {
			return math.Inf(1)
		}
	}
	return c.finiteRenyi(order)
}

// bounded returns a composition whose Rényi divergences are at least those of c. If a step has a
// mass at infinity, it is replaced by a Gaussian release with larger divergences, if one is known.
func (c *composition) bounded() *composition {
	b := &composition{}
	for _, s := range c.steps {
		if s.law.infinite > 0 && s.law.most > 0 {
			s.law = gaussianLaw(s.law.most)
		}
		b.steps = append(b.steps, s)
	}
	return b
}

// finiteRenyi is like renyi, but ignores the mass at infinity.
func (c *composition) finiteRenyi(order float64) float64 {
	if k, ok := c.binomialCumulant(order); ok {
		return k / (order - 1)
	}
	k, _, _ := c.cumulant(order - 1)
	if math.IsNaN(k) {
		return math.Inf(1) // larger orders do not give better bounds
	}
	return max(0, k/(order-1))
}

// binomialCumulant computes K(order−1) for a large integer order α = order by the binomial sum
//
//	e^K = Σ_k C(α,k)·(1−q)^(α−k)·q^k·e^(k(k−1)/2σ²)
//
// (Mironov, Talwar, Zhang 2019, section 3.3), where q is the sampling rate. If order is not an
// integer from 64 to 2¹⁶, if a step is not a sampled Gaussian release, or if the sum would lose
// digits, ok is false.
func (c *composition) binomialCumulant(order float64) (k float64, ok bool) {
	if order < 64 || order > 1<<16 || order != math.Trunc(order) {
		return 0, false
	}
	for _, s := range c.steps {
		m, ok := s.law.isMixture()
		if !ok {
			return 0, false
		}
		var total logAdder
		term := order * math.Log1p(-m.rate)
		odds := math.Log(m.rate) - math.Log1p(-m.rate)
		for j := 0.0; j <= order; j++ {
			total.add(term + j*(j-1)/(2*m.sigma*m.sigma))
			term += odds + math.Log((order-j)/(j+1))
		}
		one := total.value()
		if !(one > 1e-3) { // e^one is 1 + x, where x is so small that rounding has removed most of its digits
			return 0, false
		}
		k += s.times * one
	}
	return k, true
}

// isMixture returns the mixture in l. If l is not a single mixture with a sampling rate below 1, it
// returns false.
func (l law) isMixture() (m mixture, ok bool) {
	if len(l.parts) != 1 || len(l.atoms) > 0 {
		return m, false
	}
	m, ok = l.parts[0].pair.(mixture)
	return m, ok && m.rate < 1 && math.IsInf(l.parts[0].lo, -1)
}

// renyiEpsilon returns the smallest ε(δ) that follows from Rényi divergences at real orders, and
// the order from which it follows (Canonne, Kamath, Steinke 2020, proposition 12; Balle et al.
// 2020).
func (c *composition) renyiEpsilon(delta float64) (epsilon, order float64) {
	if delta -= c.infinite(); !(delta > 0) {
		return math.Inf(1), math.Inf(1)
	}
	return leastOverOrders(func(order float64) float64 {
		return RenyiEpsilon(order, raise(c.finiteRenyi(order)), delta)
	})
}

// renyiDelta returns the smallest δ(ε) that follows from Rényi divergences, and the order from
// which it follows.
func (c *composition) renyiDelta(epsilon float64) (delta, order float64) {
	exponent, order := leastOverOrders(func(order float64) float64 {
		return (order-1)*(raise(c.finiteRenyi(order))-epsilon+math.Log1p(-1/order)) - math.Log(order)
	})
	return min(1, math.Exp(exponent)*(1+1e-9)+c.infinite()), order
}

// leastOverOrders minimises a function of a real order above 1. It first uses a coarse grid of
// log(α − 1), and then golden-section search.
func leastOverOrders(f func(order float64) float64) (least, order float64) {
	at := func(x float64) float64 {
		y := f(1 + math.Exp(x))
		if math.IsNaN(y) {
			return math.Inf(1)
		}
		return y
	}
	const step = 0.5
	least = math.Inf(1)
	var best float64
	rising := 0
	for x := -9.0; x < 25 && rising < 12; x += step {
		if y := at(x); y < least {
			least, best, rising = y, x, 0
		} else if !math.IsInf(least, 1) {
			rising++
		}
	}
	low, high := best-step, best+step
	const ratio = 0.6180339887498949
	a, b := high-ratio*(high-low), low+ratio*(high-low)
	atA, atB := at(a), at(b)
	for high-low > 1e-7 {
		if atA < atB {
			high, b, atB = b, a, atA
			a = high - ratio*(high-low)
			atA = at(a)
		} else {
			low, a, atA = a, b, atB
			b = low + ratio*(high-low)
			atB = at(b)
		}
	}
	for _, x := range []float64{a, b} {
		if y := at(x); y < least {
			least, best = y, x
		}
	}
	return least, 1 + math.Exp(best)
}

// momentsEpsilon returns the ε(δ) of the moments accountant in its published form (Abadi et al.
// 2016, theorem 2):
//
//	ε = min over λ of (K(λ) + log 1/δ)/λ
//
// where K is the cumulant and λ = α − 1 is an integer from 1 to 32.
func (c *composition) momentsEpsilon(delta float64) float64 {
	if delta -= c.infinite(); !(delta > 0) {
		return math.Inf(1)
	}
	least := math.Inf(1)
	for lambda := 1.0; lambda <= 32; lambda++ {
		k, _, _ := c.cumulant(lambda)
		least = min(least, (raise(max(0, k))-math.Log(delta))/lambda)
	}
	return least
}
