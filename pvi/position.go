package pvi

import "fedpvi/pvi/method"

// A position is the part of the state that the server and the sites share: the number of outcomes
// and q.
type position struct {
	protocol *Protocol
	q        *posterior
	sequence int // number of outcomes
}

// Outcomes returns the number of outcomes so far.
func (p *position) Outcomes() int { return p.sequence }

// Done reports whether every plan of the rounds has an outcome.
func (p *position) Done() bool { return p.sequence == p.protocol.Plans() }

// Lambda returns λ − λ_prior on the lattice. The slice is not a copy.
func (p *position) Lambda() []Wide { return p.q.lambda }

// Posterior returns the natural parameters of q. The slice is not a copy.
func (p *position) Posterior() []float64 { return p.q.natural() }

// Remarks returns the method's remarks about the posterior, or nil if it has none. They are
// computed from the opened sums.
func (p *position) Remarks() *method.Remarks { return p.q.remarks() }
