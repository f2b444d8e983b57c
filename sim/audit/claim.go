package audit

import (
	"math"
	"sync"

	"fedpvi/accountant"
)

// Epsilons are the ε at which the claimed profile is tested.
var Epsilons = []float64{0, 0.5, 1, 2}

// drawnEpsilons are further ε from which a claimed trade-off curve is drawn.
var drawnEpsilons = []float64{0.25, 0.75, 1.5, 3, 4, 6}

// A claim is the accountant's bound for all that an observer sees in one run. It is computed once,
// at its first use.
type claim struct {
	event accountant.Event

	once   sync.Once
	deltas []float64 // δ at Epsilons, then at drawnEpsilons: upper bounds
	err    error
}

func newClaim(e accountant.Event) *claim { return &claim{event: e} }

// profile returns δ at every ε, Epsilons first.
func (c *claim) profile() (epsilons, deltas []float64, err error) {
	epsilons = append(append([]float64(nil), Epsilons...), drawnEpsilons...)
	c.once.Do(func() {
		profile, err := accountant.Account(c.event)
		if err != nil {
			c.err = err
			return
		}
		for _, epsilon := range epsilons {
			b, err := profile.Delta(epsilon)
			if err != nil {
				c.err = err
				return
			}
			c.deltas = append(c.deltas, b.Upper)
		}
	})
	return epsilons, c.deltas, c.err
}

// tradeOff returns an upper bound of the true-positive rate of every attack at false-positive
// rates, from δ(ε) in both directions.
func (c *claim) tradeOff(fprs []float64) ([]Rate, error) {
	epsilons, deltas, err := c.profile()
	if err != nil {
		return nil, err
	}
	curve := make([]Rate, len(fprs))
	for i, fpr := range fprs {
		tpr := 1.0
		for k, epsilon := range epsilons {
			odds := math.Exp(epsilon)
			tpr = min(tpr, deltas[k]+odds*fpr, 1-max(0, 1-deltas[k]-fpr)/odds)
		}
		curve[i] = Rate{fpr, tpr}
	}
	return curve, nil
}
