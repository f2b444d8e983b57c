package client

import (
	"sync"
	"time"
)

// A showing holds the status that was shown last.
type showing struct {
	now    func() time.Time
	show   func(Status) // nil to show nothing
	gossip *gossip      // nil without gossip

	mu     sync.Mutex
	status Status
}

// show updates the status with the progress of a. The argument waiting tells what a waits for.
func (r *Run) show(a *participant, waiting string) {
	r.status.change(func(s *Status) { s.Asked, s.Of, s.Waiting = a.at.Asks[0], a.at.Asks[1], waiting })
}

// change updates the status. It shows the status if the update changed it.
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
