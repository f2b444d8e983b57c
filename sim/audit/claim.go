package audit

import (
	"math"
	"slices"
	"sync"

	"fedpvi/accountant"
)

// Epsilons are the values of ε at which claimed profiles are tested.
var Epsilons = []float64{0, 0.5, 1, 2}

// drawnEpsilons are further values of ε at which claims are computed. They only make the curves in
// plots more precise.
var drawnEpsilons = []float64{0.25, 0.75, 1.5, 3, 4, 6}

// A claim is the privacy that the accountant promises against an observer who sees everything in
// one run of an [attack]. It returns upper bounds on δ at all of claimedEpsilons, and computes them
// in the first call.
type claim func() ([]float64, error)

func newClaim(e accountant.Event) claim {
	return sync.OnceValues(func() ([]float64, error) {
		profile, err := accountant.Account(e)
		if err != nil {
			return nil, err
		}
		var deltas []float64
		for _, epsilon := range claimedEpsilons() {
			b, err := profile.Delta(epsilon)
			if err != nil {
				return nil, err
			}
			deltas = append(deltas, b.Upper)
		}
		return deltas, nil
	})
}

// claimedEpsilons returns every ε for which a claim computes δ.
func claimedEpsilons() []float64 { return slices.Concat(Epsilons, drawnEpsilons) }

// tradeOff returns an upper bound on the true-positive rate of every attack at each of the given
// false-positive rates f: the minimum, over all ε in claimedEpsilons, of
//
//	min(δ(ε) + e^ε·f, 1 − max(0, 1 − δ(ε) − f)/e^ε)
func (c claim) tradeOff(fprs []float64) ([]Rate, error) {
	deltas, err := c()
	if err != nil {
		return nil, err
	}
	curve := make([]Rate, len(fprs))
	for i, fpr := range fprs {
		tpr := 1.0
		for k, epsilon := range claimedEpsilons() {
			odds := math.Exp(epsilon)
			tpr = min(tpr, deltas[k]+odds*fpr, 1-max(0, 1-deltas[k]-fpr)/odds)
		}
		curve[i] = Rate{fpr, tpr}
	}
	return curve, nil
}
