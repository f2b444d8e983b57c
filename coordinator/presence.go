package coordinator

import (
	"sync"
	"time"

	"fedpvi/crypto/identity"
)

// A presence knows which clients are calling now or have called recently. A round begins only if
// enough clients are present.
type presence struct {
	now    func() time.Time
	window time.Duration
	news   chan struct{} // receives a value when a client becomes present

	mu   sync.Mutex
	seen map[identity.Name]*sighting
}

type sighting struct {
	last  time.Time
	calls int // number of calls in progress
}

// begin records that a client's call begins. The caller must call end when the call ends.
func (p *presence) begin(name identity.Name) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen[name]
	if s == nil {
		s = &sighting{}
		p.seen[name] = s
	}
	if !p.here(s) {
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
	s.calls++
	s.last = p.now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.calls--
		s.last = p.now()
	}
}

func (p *presence) here(s *sighting) bool {
	return s.calls > 0 || !s.last.IsZero() && p.now().Sub(s.last) <= p.window
}

// present reports whether a client is present. It is present while it is calling, and for the time
// p.window afterwards.
func (p *presence) present(name identity.Name) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen[name]
	return s != nil && p.here(s)
}

// last returns the time when the client's last call ended. It returns now if a call is in progress,
// and zero if the client has never called.
func (p *presence) last(name identity.Name) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen[name]
	switch {
	case s == nil:
		return time.Time{}
	case s.calls > 0:
		return p.now()
	}
	return s.last
}
