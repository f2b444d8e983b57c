package pvi

import (
	"fmt"

	"fedpvi/accountant"
)

// What single releases cost, for a ledger that is charged as they happen. All of a
// study's increments together are what [Protocol.Event] states for the whole.

// Increment returns the cost of a client's releases number from+1 to number to in the
// rounds, against an observer and under an adjacency: without the finding of the scale
// before them, which is [Scaling.EventFor], and the last round after them, which is
// [OneStep.EventFor]. The study must make a promise, and be accounted as it is played
// ([Protocol.Published] is empty).
func (p *Protocol) Increment(view View, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	if most := p.inRounds(p.Releases()); from < 0 || from > to || to > most {
		return nil, fmt.Errorf("releases %d to %d: the rounds of the study have %d", from+1, to, most)
	}
	times := to - from
	if p.sampled == nil {
		return accountant.Repeated{Event: p.Mechanism().EventFor(view.Shares, adjacency), Times: times}, nil
	}
	step, err := p.sampled.SharedEventFor(1, view.Shares, adjacency)
	if err != nil || p.start == nil || from > 0 || times == 0 {
		return accountant.Repeated{Event: step, Times: times}, err
	}
	return accountant.Composed{p.start.EventFor(1, adjacency), accountant.Repeated{Event: step, Times: times - 1}}, nil
}

// Ahead returns how many releases the answer to the next plan makes at most. It makes
// fewer only if it ends in an error.
func (s *Site) Ahead() int {
	p := s.protocol
	if p.changes() == nil && p.records == nil && p.sampled == nil {
		return 0 // no promise is made
	}
	next := 1
	if p.sampled != nil && !p.Summed() {
		next = p.descent.Steps
		if p.start != nil && s.spent.Statistics == 0 {
			next++
		}
	}
	return min(next, p.inRounds(p.Releases())-s.Releases())
}
