package accountant

import "math"

// The bounds in this file follow from a single guarantee (ε, δ), so they are looser than those of a
// [Profile]. The functions expect that ε ≥ 0 and 0 ≤ δ ≤ 1, that rates are in [0, 1], and that the
// size is at least 1. They do not check this. Each result is raised by more than its rounding
// error.

// AdvantageBound returns the largest advantage that an attack on an (ε, δ)-private release can
// have,
//
//	(e^ε − 1 + 2δ)/(e^ε + 1)
//
// (Kairouz, Oh, Viswanath 2015, theorem 2.1; Humphries et al., "Investigating Membership Inference
// Attacks under Data Dependencies", 2023, theorem 3.3).
func AdvantageBound(epsilon, delta float64) float64 {
	return min(1, (math.Tanh(epsilon/2)+2*delta/(1+math.Exp(epsilon)))*raised)
}

// TruePositiveRateBound returns the largest true-positive rate that an attack on an (ε, δ)-private
// release can have if its false-positive rate is at most fpr,
//
//	min{e^ε·fpr + δ, 1 − e^(−ε)(1 − δ − fpr)}
//
// (Kairouz, Oh, Viswanath 2015, theorem 2.1).
func TruePositiveRateBound(epsilon, delta, fpr float64) float64 {
	left := delta
	if fpr > 0 {
		left += math.Exp(epsilon + math.Log(fpr))
	}
	right := 1 - math.Exp(-epsilon)*max(0, 1-delta-fpr)
	return min(1, left*(1+0x1p-40), right*raised)
}

// GroupPrivacy returns the guarantee
//
//	(kε, δ(e^(kε) − 1)/(e^ε − 1))
//
// of an (ε, δ)-private release for groups of k records (Vadhan, "The Complexity of Differential
// Privacy", 2017, lemma 2.2, with the geometric sum of its proof).
func GroupPrivacy(epsilon, delta float64, k int) (eps, del float64) {
	n := float64(k)
	switch {
	case k == 1 || delta == 0:
		del = delta
	case epsilon == 0:
		del = n * delta
	default:
		// If δ is small, e^(kε) might overflow, so use logarithms.
		log := math.Log(delta) + logExpm1(n*epsilon) - logExpm1(epsilon)
		del = math.Exp(log) * (1 + 0x1p-40)
	}
	return up(n * epsilon), min(1, del)
}

// logExpm1 returns log(e^x − 1).
func logExpm1(x float64) float64 {
	if x > 36 {
		return x
	}
	return math.Log(math.Expm1(x))
}
