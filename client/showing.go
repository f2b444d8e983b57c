package client

import (
	"sync"
	"time"
)

// A showing is the status as it was shown last.
type showing struct {
	now    func() time.Time
	show   func(Status) // nil for nobody
	gossip *gossip      // nil if there is none

	mu     sync.Mutex
	status Status
}

// show tells of a new status.
func (r *Run) show(a *participant, waiting string) {
	r.status.change(func(s *Status) { s.Asked, s.Of, s.Waiting = a.at.Asks[0], a.at.Asks[1], waiting })
}

// change changes the status, and shows it if it is another then.
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
