package pvi

import (
	"fmt"

	"fedpvi/pvi/study"
)

// maxShared is the largest absolute value that secure aggregation, which computes modulo 2^61 − 1,
// can open.
const maxShared = 1<<60 - 1

// Limit returns an upper bound on the absolute values in any release of the study, in lattice
// steps.
func (p *Protocol) Limit() int64 {
	limit := p.messages.Limit()
	for _, s := range p.before {
		limit = max(limit, s.Limit(1), s.Limit(s.Passes()))
	}
	for _, r := range p.after {
		limit = max(limit, r.Limit())
	}
	return limit
}

// checkSums returns an error if the sum over all clients could become too large for secure
// aggregation.
func (p *Protocol) checkSums() error {
	if p.study.Federation.Aggregation != study.Secure {
		return nil
	}
	clients := int64(len(p.roster.Clients))
	if limit := p.Limit(); limit > maxShared/clients {
		return fmt.Errorf("%d releases could overflow in secure aggregation, which opens sums below 2^60: use at most %d clients, fewer records in each (federation.max_records), or a larger noise multiplier", clients, maxShared/limit)
	}
	return nil
}

// VectorSize returns the number of elements in the longest release of any phase.
func (p *Protocol) VectorSize() int {
	size := p.messages.Size
	for _, s := range p.before {
		size = max(size, s.Size(1), s.Size(s.Passes()))
	}
	for _, r := range p.after {
		size = max(size, r.Size())
	}
	return size
}

// Hidden returns h: even if h clients collude with the coordinator, they cannot read the answer of
// another client.
func (p *Protocol) Hidden() int { return study.Hidden(len(p.roster.Clients), p.roster.Fewest) }
