package accountant

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// A law is the distribution of the privacy loss L = log P/Q of one event, when the output is drawn
// from P. It consists of parts with a density, of atoms (losses with positive probability), and of
// the mass, under P, of outputs that are impossible under Q and so have an infinite loss.
type law struct {
	mu       float64 // μ of a Gaussian release, whose moments have a closed form; 0 for other events
	parts    []part
	atoms    []atom
	infinite float64
	most     float64 // μ of a Gaussian release whose Rényi divergences are at least those of this law; 0 if no such release is known
}

// A part is an interval of the line with the densities of two distributions P and Q.
type part struct {
	pair
	lo, hi float64
}

type atom struct{ loss, mass float64 }

// whole returns the distribution of the privacy loss for two densities on the whole line.
func whole(p pair) law { return law{parts: []part{{p, math.Inf(-1), math.Inf(1)}}} }

// gaussianLaw returns the distribution of the loss of a Gaussian release with parameter μ.
func gaussianLaw(mu float64) law {
	l := whole(mixture{1, 1 / mu})
	l.mu = mu
	return l
}

// laplaceLaw returns the distribution of the loss of a Laplace release, where ε =
// sensitivity/scale.
func laplaceLaw(epsilon float64) law {
	return law{
		parts: []part{{laplace{epsilon}, -epsilon, epsilon}},
		atoms: []atom{{-epsilon, math.Exp(-epsilon) / 2}, {epsilon, 0.5}},
	}
}

// approximateLaw returns a distribution of the loss that dominates all (ε, δ)-private steps
// (Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy", 2015, section 3).
func approximateLaw(epsilon, delta float64) law {
	rest := 1 - delta
	return law{
		atoms:    []atom{{-epsilon, rest / (1 + math.Exp(epsilon))}, {epsilon, rest / (1 + math.Exp(-epsilon))}},
		infinite: delta,
	}
}

// replacedLaw returns a distribution of the loss that dominates one step of sampling without
// replacement at rate γ, under replace-one. The unit of the noise σ is the clip norm. For ε ≥ 0,
// its profile is that of (1−γ)N(0)+γN(2) against N(0), where N(m) = N(m, σ²). For ε < 0, it is that
// of the reverse pair (Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via
// Characteristic Function", 2022, proposition 30).
//
// Let the unit of the output be the distance 2 between the two means, and let r be the density
// ratio of the pair, so that r(½) = 1. The distribution has three parts:
//
//   - For an output above ½ of the mixture (1−γ)N(0)+γN(2), the loss is log r.
//   - For an output above ½ of N(0), the loss is −log r.
//   - The loss is zero with the remaining mass.
func replacedLaw(rate, sigma float64) law {
	m := mixture{rate, sigma / 2}
	return law{
		parts: []part{{m, 0.5, math.Inf(1)}, {reversed{m}, math.Inf(-1), -0.5}},
		atoms: []atom{{0, (1 - rate) * math.Erf(0.5/(m.sigma*math.Sqrt2))}},
	}
}

// single returns δ(ε) = ∫ (p − e^ε q)₊ for one event, where p and q are the densities of the output
// under P and Q. The relative error is below singleError.
func (l law) single(epsilon float64) float64 {
	sum := l.infinite
	for _, a := range l.atoms {
		if a.loss > epsilon {
			sum -= a.mass * math.Expm1(epsilon-a.loss)
		}
	}
	for _, p := range l.parts {
		smooth, _ := p.scale(0)
		lo, hi := max(p.lo, p.at(epsilon)), p.hi
		if math.IsInf(lo, -1) {
			lo, _ = p.reach(0)
		}
		if math.IsInf(hi, 1) {
			_, end := p.reach(0)
			hi = max(end, lo) + 2*span*smooth
		}
		if lo >= hi {
			continue
		}
		panels := math.Ceil((hi - lo) / (smooth / 2))
		width := (hi - lo) / panels
		for k := range int(panels) {
			var panel float64
			rule10.each(lo+float64(k)*width, width, func(x, weight float64) {
				a, _ := p.densities(x)
				panel += weight * a * max(0, -math.Expm1(epsilon-p.loss(x)))
			})
			if sum += panel; panel < sum*0x1p-60 {
				break
			}
		}
	}
	return sum
}

// singleError bounds the relative error of [law.single]. Where the loss is near ε, p and e^ε·q
// nearly cancel.
const singleError = 1e-9

// A rule is a Gauss-Legendre rule on [0, 1].
type rule struct{ nodes, weights []float64 }

func newRule(n int) rule {
	r := rule{make([]float64, n), make([]float64, n)}
	quad.Legendre{}.FixedLocations(r.nodes, r.weights, 0, 1)
	return r
}

var rule3, rule5, rule10, rule16 = newRule(3), newRule(5), newRule(10), newRule(16)

// each calls f with each node of the rule in the interval [lo, lo+width], and with its weight.
func (r rule) each(lo, width float64, f func(x, weight float64)) {
	for i, node := range r.nodes {
		f(lo+width*node, width*r.weights[i])
	}
}
