package accountant

import (
	"errors"
	"fmt"
	"math"
)

// Outcomes is one release of a mechanism that has finitely many outcomes and is not known to this
// package. It has the probabilities of the outcomes for a pair of neighbouring data sets that
// dominates all others: no other pair has a larger δ(ε) for any ε. The author of the mechanism must
// prove this.
//
// An Outcomes has no encoding, so it cannot be part of ledgers and messages (see [MarshalEvent]).
type Outcomes struct {
	p, q      []float64
	adjacency Adjacency
}

// NewOutcomes returns the event of a mechanism in which outcome i has the probability p[i] with the
// record, and q[i] without it. p and q must each add up to 1. The cost is the larger one of the two
// orders of the data sets.
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

// lawOf returns the distribution of the privacy loss log(p[i]/q[i]) if i is drawn from p.
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
