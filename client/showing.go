package client

import (
	"sync"
	"time"
)

// A showing holds the displayed status of a run.
type showing struct {
	now    func() time.Time
	show   func(Status) // displays a status; nil to display nothing
	gossip *gossip      // daemons that the status lists as running; nil without gossip

	mu     sync.Mutex
	status Status
}

// show updates the progress in the status. waiting is the event that a waits for.
func (r *Run) show(a *participant, waiting string) {
	r.status.change(func(s *Status) { s.Asked, s.Of, s.Waiting = a.at.Asks[0], a.at.Asks[1], waiting })
}

// change changes the status, and shows it if it is different now.
func (s *showing) change(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.status
	change(&next)
	heard := next
	if next.Missed = s.gossip.missed(); next == s.status {
		return
	}
	if heard != s.status {
		next.Since = s.now()
	}
	s.status = next
	if s.show != nil {
		s.show(next)
	}
}
