package accountant

import (
	"math"
	"sort"
)

// The theorems in this file ask nothing of a mechanism but its (ε, δ) or its ρ.
// They are looser than [Account], and serve for mechanisms that are no event and
// for comparison with older work. Their arguments are not checked: ε ≥ 0,
// 0 ≤ δ < 1, a number k ≥ 1 of releases, ρ ≥ 0, and whatever else is called δ or
// slack in (0, 1). Results are raised by more than their rounding error.

// raised is the factor by which closed forms of a few operations are raised.
const raised = 1 + 0x1p-50

// BasicComposition returns the guarantee (kε, kδ) of k releases that are each
// (ε, δ)-private (Dwork et al., "Our Data, Ourselves", 2006). It is
// the only one of the three that needs no slack.
func BasicComposition(epsilon, delta float64, k int) (eps, del float64) {
	return up(float64(k) * epsilon), min(1, up(float64(k)*delta))
}

// AdvancedComposition returns the guarantee
// (ε√(2k log(1/δ′)) + kε(e^ε − 1), kδ + δ′) of k releases that are each
// (ε, δ)-private (Dwork, Rothblum, Vadhan, "Boosting and Differential Privacy",
// 2010, theorem III.3). For ε of 1 or more it is above [BasicComposition].
func AdvancedComposition(epsilon, delta float64, k int, deltaPrime float64) (eps, del float64) {
	n := float64(k)
	eps = epsilon*math.Sqrt(-2*n*math.Log(deltaPrime)) + n*epsilon*math.Expm1(epsilon)
	return eps * raised, min(1, up(n*delta+deltaPrime)*raised)
}

// OptimalComposition returns the smallest of the guarantees
// ((k − 2i)ε, 1 − (1−δ)^k (1−δ_i)), i = 0 ... ⌊k/2⌋, whose second half is at most
// kδ + slack. No better one holds for all releases that are (ε, δ)-private each
// (Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy",
// 2015, theorem 3.3).
func OptimalComposition(epsilon, delta float64, k int, slack float64) (eps, del float64) {
	n := float64(k)
	total := func(i int) float64 {
		// 1 − (1−δ)^k (1−δ_i), without cancellation where both are small.
		return -math.Expm1(n*math.Log1p(-delta)+math.Log1p(-optimalDelta(epsilon, k, i))) * raised
	}
	// δ_i grows with i: the first i that is too much, less one. Rounding must not
	// rule out i = 0, which is kδ or less.
	i := sort.Search(k/2, func(j int) bool { return total(j+1) > n*delta+slack })
	return up(float64(k-2*i) * epsilon), min(1, total(i))
}

// optimalDelta is δ_i of the theorem,
//
//	Σ_{l<i} C(k,l) (e^{(k−l)ε} − e^{(k−2i+l)ε}) / (1 + e^ε)^k.
//
// With B the binomial law of k trials of probability 1/(1 + e^ε), the summand is
// B(l)(1 − e^{−2(i−l)ε}).
func optimalDelta(epsilon float64, k, i int) float64 {
	n := float64(k)
	logAll, _ := math.Lgamma(n + 1)
	var sum float64
	for l := range i {
		x := float64(l)
		logIn, _ := math.Lgamma(x + 1)
		logOut, _ := math.Lgamma(n - x + 1)
		logMass := logAll - logIn - logOut - x*epsilon - n*math.Log1p(math.Exp(-epsilon))
		sum += math.Exp(logMass) * -math.Expm1(-2*float64(i-l)*epsilon)
	}
	// The exponent has an error of a few units in the last place of its largest
	// parts, and the sum one of i units.
	margin := (logAll + n*(1+epsilon)) * 0x1p-50
	return min(1, sum*(1+margin))
}

// Amplify returns the guarantee (log(1 + q(e^ε − 1)), qδ) of an (ε, δ)-private
// release that sees a random part of the records: under [AddRemove] each record
// independently with probability q, or under [ReplaceOne] a share q of them
// drawn without replacement (Balle, Barthe, Gaboardi, "Privacy Amplification by
// Subsampling", 2018, theorems 8 and 9). The release must be private under the
// same adjacency. 0 ≤ q ≤ 1.
func Amplify(epsilon, delta, q float64) (eps, del float64) {
	del = min(1, up(q*delta))
	if q == 0 {
		return 0, del
	}
	if epsilon < 700 {
		return min(epsilon, math.Log1p(q*math.Expm1(epsilon))*raised), del
	}
	// Here e^ε overflows, or nearly, and the −1 beside it is nothing.
	x := epsilon + math.Log(q)
	eps = max(0, x) + math.Log1p(math.Exp(-math.Abs(x)))
	return min(epsilon, eps+epsilon*0x1p-50), del
}

// ZCDPEpsilon returns an ε at which every ρ-zCDP release is (ε, δ)-private
// (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy",
// 2020, proposition 12, at the best real order).
func ZCDPEpsilon(rho, delta float64) float64 {
	if rho == 0 || insideVariation(rho, delta) {
		return 0
	}
	// Every order gives a valid ε, so the search need not be certain to succeed.
	at := func(logOrder float64) float64 {
		order := 1 + math.Exp(logOrder)
		return RenyiEpsilon(order, up(order*rho), delta)
	}
	// The best order is a few times below 1 + √(log(1/δ)/ρ) at most.
	best := math.Log(-math.Log(delta)/rho) / 2
	low, high := best-12, best+3
	const golden = 0.6180339887498949
	a, b := high-golden*(high-low), low+golden*(high-low)
	fa, fb := at(a), at(b)
	least := min(at(best), fa, fb)
	for range 80 {
		if fa <= fb {
			high, b, fb = b, a, fa
			a = high - golden*(high-low)
			fa = at(a)
		} else {
			low, a, fa = a, b, fb
			b = low + golden*(high-low)
			fb = at(b)
		}
		least = min(least, fa, fb)
	}
	return least
}

// ZCDPEpsilonBunSteinke returns ρ + 2√(ρ log(1/δ)), the older and looser
// conversion (Bun, Steinke, "Concentrated Differential Privacy", 2016,
// proposition 1.3).
func ZCDPEpsilonBunSteinke(rho, delta float64) float64 {
	return (rho + 2*math.Sqrt(-rho*math.Log(delta))) * raised
}

// RenyiEpsilon returns an ε at which a release of Rényi divergence at most renyi
// at an order α > 1 is (ε, δ)-private, for 0 < δ < 1:
//
//	max(0, R + log((α−1)/α) − (log δ + log α)/(α−1))
//
// (Canonne, Kamath, Steinke 2020, proposition 12; Balle et al., "Hypothesis
// Testing Interpretations and Rényi Differential Privacy", 2020, theorem 21), and
// 0 where the total variation distance, at most √(1 − e^(−R)) by the inequality
// of Bretagnolle and Huber, is below δ.
func RenyiEpsilon(order, renyi, delta float64) float64 {
	if insideVariation(renyi, delta) {
		return 0
	}
	gain := math.Log1p(-1 / order)
	price := (math.Log(delta) + math.Log(order)) / (order - 1)
	margin := (renyi - gain + (math.Log(order)-math.Log(delta))/(order-1)) * 0x1p-50
	return max(0, renyi+gain-price+margin)
}

// insideVariation reports whether a divergence, of Kullback and Leibler or of
// Rényi at an order above 1, makes the total variation distance less than δ.
func insideVariation(divergence, delta float64) bool {
	return delta*delta > -math.Expm1(-divergence)*raised
}

// RenyiBudget returns the largest Rényi divergence at an order α > 1 for which
// [RenyiEpsilon] is at most ε at δ. It is positive, if tiny where the order is
// far from what suits the target.
func RenyiBudget(order, epsilon, delta float64) float64 {
	return largest(func(renyi float64) bool { return !(RenyiEpsilon(order, renyi, delta) <= epsilon) })
}

// largest returns the largest finite x ≥ 0 that is not too much, or 0 if there is
// none. What is above something too much must be too much.
func largest(tooMuch func(float64) bool) float64 {
	if tooMuch(0) {
		return 0
	}
	low, high := 0.0, 1.0
	for !tooMuch(high) {
		low, high = high, 2*high
		if math.IsInf(high, 0) {
			return low
		}
	}
	low, _ = bisect(low, high, tooMuch)
	return low
}
