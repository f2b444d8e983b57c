package accountant

import (
	"errors"
	"fmt"
	"math"
)

// Outcomes is one release of a mechanism that has finitely many outcomes and that this package does
// not know. It contains the probabilities of the outcomes for a pair of neighbouring data sets that
// dominates all other pairs: no other pair has a larger δ(ε) for any ε. The author of the mechanism
// must prove this, because the accountant uses only the probabilities.
//
// An Outcomes has no encoding, so ledgers and messages cannot contain it (see [MarshalEvent]).
type Outcomes struct {
	p, q      []float64
	adjacency Adjacency
}

// NewOutcomes returns the event of a mechanism whose outcome i has the probability p[i] if the
// record is present, and q[i] if it is not. The elements of p must add up to 1, and so must the
// elements of q. The cost is the larger of the costs for the two orders of the data sets.
func NewOutcomes(p, q []float64, adjacency Adjacency) (*Outcomes, error) {
	if len(p) != len(q) || len(p) < 2 {
		return nil, fmt.Errorf("%d and %d probabilities: give each outcome one in both lists, and at least two outcomes", len(p), len(q))
	}
	if err := adjacency.Check(); err != nil {
		return nil, err
	}
	for _, list := range [][]float64{p, q} {
		sum := 0.
		for _, x := range list {
			if !(x >= 0 && x <= 1) {
				return nil, fmt.Errorf("%g is not a probability", x)
			}
			sum += x
		}
		if math.Abs(sum-1) > 1e-12 {
			return nil, fmt.Errorf("the probabilities have the sum %.15g, not 1", sum)
		}
	}
	return &Outcomes{append([]float64(nil), p...), append([]float64(nil), q...), adjacency}, nil
}

func (e *Outcomes) addTo(t *tally, times float64) error {
	if e == nil {
		return errors.New("no event")
	}
	if err := t.under(e.adjacency); err != nil {
		return fmt.Errorf("event with outcomes: %w", err)
	}
	t.sample(e, times)
	return nil
}

func (e *Outcomes) laws() (upper, lower directions, err error) {
	d := directions{remove: lawOf(e.p, e.q), add: lawOf(e.q, e.p)}
	return d, d, nil
}

// lawOf returns the distribution of the privacy loss log(p[i]/q[i]), where the outcome i is drawn
// with the probabilities p.
func lawOf(p, q []float64) (l law) {
	for i := range p {
		switch {
		case p[i] == 0:
		case q[i] == 0:
			l.infinite += p[i]
		default:
			l.atoms = append(l.atoms, atom{math.Log(p[i] / q[i]), p[i]})
		}
	}
	return l
}
