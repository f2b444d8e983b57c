// Package membership records when each party of a study was last seen. A party is seen over the
// connection between client and coordinator, or through gossip between daemons that can reach
// each other.
//
// The record is for information only, because a holder of the gossip key can send under every
// name and replay old packets. No roster, threshold, round or noise share depends on it. The
// package provides times and names for display. It also provides a channel that wakes a waiting
// goroutine, which then checks the signed messages.
package membership

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"fedpvi/crypto/identity"
)

// A Way is a means by which a party was seen.
type Way string

// Means by which a party can be seen.
const (
	Stream Way = "stream"
	Gossip Way = "gossip"
)

// A Sighting tells when and how a party was last seen.
type Sighting struct {
	Name identity.Name
	At   time.Time // time when the party was last seen; zero if it never was
	Way  Way       // means by which the party was last seen
	// Missed is the time when gossip lost contact with the party. It is zero if the party was
	// seen later.
	Missed time.Time
}

// A View records when each party was last seen.
type View struct {
	now   func() time.Time
	known func(identity.Name) bool

	mu      sync.Mutex
	seen    map[identity.Name]Sighting
	changed chan struct{}
}

// NewView returns a view of the parties for which known returns true. The view ignores all other
// names.
func NewView(known func(identity.Name) bool, now func() time.Time) *View {
	return &View{now: now, known: known, seen: map[identity.Name]Sighting{}, changed: make(chan struct{})}
}

// Seen records that a party was seen now.
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
		if !s.Missed.IsZero() {
			return false
		}
		s.Missed = now
		return true
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

// All returns the last sighting of every party that was ever seen, ordered by name.
func (v *View) All() []Sighting {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]Sighting, 0, len(v.seen))
	for _, s := range v.seen {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sighting) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Last returns the last sighting of one party.
func (v *View) Last(name identity.Name) Sighting {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[name]
	s.Name = name
	return s
}

// Changed returns a channel that is closed when a party next comes or goes.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}
