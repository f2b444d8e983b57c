// Package membership is who was seen when, and by what way: by the connection on which a
// client stays in touch, or by gossip between daemons that can reach each other.
//
// It is a hint. Whoever holds the key of the gossip can speak for everybody, and play back
// what was said before. So nothing is decided here: no roster, no threshold, no round and no
// noise share depends on it. There are times and names to show to people, and a channel to
// wake up who waits, who then looks at what was signed.
package membership

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"fedpvi/crypto/identity"
)

// A Way is how a sign of life came.
type Way string

// The ways.
const (
	Stream Way = "stream"
	Gossip Way = "gossip"
)

// A Sighting is the last that is known of a party.
type Sighting struct {
	Name identity.Name
	At   time.Time // of the last sign of life; zero if there was none
	Way  Way       // in which it came
	// Missed is since when the others do not hear of it; zero if it was seen since.
	Missed time.Time
}

// A View is when each party was last seen.
type View struct {
	now   func() time.Time
	known func(identity.Name) bool

	mu      sync.Mutex
	seen    map[identity.Name]Sighting
	changed chan struct{}
}

// NewView makes a view of the parties that known tells: what is said of others is ignored.
func NewView(known func(identity.Name) bool, now func() time.Time) *View {
	return &View{now: now, known: known, seen: map[identity.Name]Sighting{}, changed: make(chan struct{})}
}

// Seen notes a sign of life.
func (v *View) Seen(name identity.Name, way Way) {
	v.note(name, func(s *Sighting, now time.Time) (news bool) {
		news = s.At.IsZero() || !s.Missed.IsZero()
		s.At, s.Way, s.Missed = now, way, time.Time{}
		return news
	})
}

// miss notes that others do not hear of a party any more.
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

// All returns the last of every party of which there was any sign, by name.
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

// Last returns the last of one party.
func (v *View) Last(name identity.Name) Sighting {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[name]
	s.Name = name
	return s
}

// Changed is closed when a party comes or goes, the next time after it was asked for.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}
