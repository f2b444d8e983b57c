package pvi

import "fedpvi/pvi/method"

// A position is common to server and sites: the number of outcomes and the q that follows from
// them.
type position struct {
	protocol *Protocol
	q        *posterior
	sequence int // number of outcomes that were issued or applied
}

// Outcomes returns the number of outcomes so far.
func (p *position) Outcomes() int { return p.sequence }

// Done reports whether every plan of the rounds has an outcome.
func (p *position) Done() bool { return p.sequence == p.protocol.Plans() }

// Lambda returns λ − λ_prior on the lattice. The slice is not a copy.
func (p *position) Lambda() []Wide { return p.q.lambda }

// Posterior returns the natural parameters of q. The slice is not a copy.
func (p *position) Posterior() []float64 { return p.q.natural() }

// Remarks returns remarks about the posterior, computed from the opened sums. It returns nil if the
// method has no remarks.
func (p *position) Remarks() *method.Remarks { return p.q.remarks() }
