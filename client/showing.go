package client

import (
	"sync"
	"time"
)

// A showing has the status of a run that is displayed.
type showing struct {
	now    func() time.Time
	show   func(Status) // displays a status; nil if there is no display
	gossip *gossip      // source of the running daemons in the status; nil without gossip

	mu     sync.Mutex
	status Status
}

// show updates the progress in the status. The participant a is waiting for the event waiting.
func (r *Run) show(a *participant, waiting string) {
	r.status.change(func(s *Status) { s.Asked, s.Of, s.Waiting = a.at.Asks[0], a.at.Asks[1], waiting })
}

// change changes the status. If it is then different, change displays it.
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
