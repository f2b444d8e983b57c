// Package membership records when each party of a study was last seen, either on the connection
// between client and coordinator or through gossip between daemons.
//
// The record is for information only. Anyone who has the gossip key can send messages under any
// name and replay old packets, so no roster, threshold, round or noise share depends on it. The
// package provides times and names for display, and a channel that wakes a waiting goroutine, which
// then checks signed messages.
package membership

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"fedpvi/crypto/identity"
)

// A Way tells how a party was seen.
type Way string

// These are the ways to see a party: on its connection to the coordinator, or through gossip.
const (
	Stream Way = "stream"
	Gossip Way = "gossip"
)

// A Sighting tells when and how a party was last seen.
type Sighting struct {
	Name identity.Name
	At   time.Time // when the party was last seen; zero if never
	Way  Way       // how the party was last seen
	// Missed is when gossip lost contact with the party. It is zero if the party was seen since
	// then.
	Missed time.Time
}

// A View knows when each party was last seen.
type View struct {
	now   func() time.Time
	known func(identity.Name) bool

	mu      sync.Mutex
	seen    map[identity.Name]Sighting
	changed chan struct{}
}

// NewView returns an empty view. The function known looks up a name in the roster, and the view
// ignores names for which it returns false. clock returns the current time.
func NewView(known func(identity.Name) bool, clock func() time.Time) *View {
	return &View{now: clock, known: known, seen: map[identity.Name]Sighting{}, changed: make(chan struct{})}
}

// Seen records that a party was seen just now.
func (v *View) Seen(name identity.Name, way Way) {
	v.note(name, func(s *Sighting, now time.Time) (news bool) {
		news = s.At.IsZero() || !s.Missed.IsZero()
		s.At, s.Way, s.Missed = now, way, time.Time{}
		return news
	})
}

// miss records that gossip has lost contact with a party.
func (v *View) miss(name identity.Name) {
	v.note(name, func(s *Sighting, now time.Time) (news bool) {
		if news = s.Missed.IsZero(); news {
			s.Missed = now
		}
		return news
	})
}

func (v *View) note(name identity.Name, change func(*Sighting, time.Time) (news bool)) {
	if !v.known(name) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[name]
	s.Name = name
	news := change(&s, v.now())
	v.seen[name] = s
	if news {
		close(v.changed)
		v.changed = make(chan struct{})
	}
}

// All returns the last sighting of each party that was ever seen or lost, sorted by name.
func (v *View) All() []Sighting {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.SortedFunc(maps.Values(v.seen), func(a, b Sighting) int { return cmp.Compare(a.Name, b.Name) })
}

// Last returns the last sighting of a party. If the party was never seen, the time is zero.
func (v *View) Last(name identity.Name) Sighting {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[name]
	s.Name = name
	return s
}

// Changed returns a channel that is closed the next time the set of reachable parties changes.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}
