package accountant

import "math"

// The theorems in this file use only a mechanism's (ε, δ) or Rényi divergence, so their bounds are
// looser than those of [Account]. They are for mechanisms without an event, and for comparison with
// older work. The functions expect that ε ≥ 0 and k ≥ 1, that the δ of a given guarantee is in [0,
// 1), and that any other δ is in (0, 1). They do not check this. Each result is raised by more than
// its rounding error.

// raised is a factor that covers the rounding errors of a closed form with few operations.
const raised = 1 + 0x1p-50

// BasicComposition returns the guarantee (kε, kδ) for k releases, each of which is (ε, δ)-private
// (Dwork et al., "Our Data, Ourselves", 2006).
func BasicComposition(epsilon, delta float64, k int) (eps, del float64) {
	return up(float64(k) * epsilon), min(1, up(float64(k)*delta))
}

// AdvancedComposition returns the guarantee
//
//	(ε√(2k log(1/δ′)) + kε(e^ε − 1), kδ + δ′)
//
// of k releases that are each (ε, δ)-private (Dwork, Rothblum, Vadhan, "Boosting and Differential
// Privacy", 2010, theorem III.3). If ε is 1 or more, the resulting ε is larger than the ε of
// [BasicComposition].
func AdvancedComposition(epsilon, delta float64, k int, deltaPrime float64) (eps, del float64) {
	n := float64(k)
	eps = epsilon*math.Sqrt(-2*n*math.Log(deltaPrime)) + n*epsilon*math.Expm1(epsilon)
	return eps * raised, min(1, up(n*delta+deltaPrime)*raised)
}

// Amplify returns the guarantee
//
//	(log(1 + q(e^ε − 1)), qδ)
//
// of an (ε, δ)-private release on a random sample of the records, for 0 ≤ q ≤ 1. Under [AddRemove]
// each record is in the sample independently with probability q. Under [ReplaceOne] the sample is a
// fraction q of the records, drawn without replacement (Balle, Barthe, Gaboardi, "Privacy
// Amplification by Subsampling", 2018, theorems 8 and 9). The release must be private under the
// same adjacency.
func Amplify(epsilon, delta, q float64) (eps, del float64) {
	del = min(1, up(q*delta))
	if q == 0 {
		return 0, del
	}
	if epsilon < 700 {
		return min(epsilon, math.Log1p(q*math.Expm1(epsilon))*raised), del
	}
	// If ε ≥ 700, e^ε − 1 is equal to e^ε up to rounding, and e^ε itself might overflow.
	x := epsilon + math.Log(q)
	eps = max(0, x) + math.Log1p(math.Exp(-math.Abs(x)))
	return min(epsilon, eps+epsilon*0x1p-50), del
}

// If the Rényi divergence of a release at an order α > 1 is at most R = renyi, the release is (ε,
// δ)-private for the ε that RenyiEpsilon returns. It expects 0 < δ < 1. The result is
//
//	max(0, R + log((α−1)/α) − (log δ + log α)/(α−1))
//
// (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020, proposition
// 12; Balle et al., "Hypothesis Testing Interpretations and Rényi Differential Privacy", 2020,
// theorem 21), or 0 if the total variation distance, which is at most √(1 − e^(−R)) by the
// inequality of Bretagnolle and Huber, is below δ.
func RenyiEpsilon(order, renyi, delta float64) float64 {
	if insideVariation(renyi, delta) {
		return 0
	}
	gain := math.Log1p(-1 / order)
	price := (math.Log(delta) + math.Log(order)) / (order - 1)
	margin := (renyi - gain + (math.Log(order)-math.Log(delta))/(order-1)) * 0x1p-50
	return max(0, renyi+gain-price+margin)
}

// insideVariation reports whether a divergence implies that the total variation distance is below
// δ. The divergence is that of Kullback and Leibler, or that of Rényi at an order above 1.
func insideVariation(divergence, delta float64) bool {
	return delta*delta > -math.Expm1(-divergence)*raised
}

// RenyiBudget returns the largest Rényi divergence at an order α > 1 for which [RenyiEpsilon] at δ
// is at most ε. The result is always positive, but tiny if another order fits the target much
// better.
func RenyiBudget(order, epsilon, delta float64) float64 {
	return largest(func(renyi float64) bool { return !(RenyiEpsilon(order, renyi, delta) <= epsilon) })
}

// largest returns the largest finite x ≥ 0 for which tooMuch is false. If there is none, it returns
// 0. As x grows, tooMuch may change from false to true only once.
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
