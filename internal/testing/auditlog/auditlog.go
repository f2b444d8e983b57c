// Package auditlog lets tests read the audit log of a daemon.
package auditlog

import (
	"slices"
	"sync"
	"testing"

	"fedpvi/internal/audit"
)

// Lines is a destination of an audit log that keeps the lines in memory.
type Lines struct {
	mu  sync.Mutex
	all []audit.Line
}

// New returns an audit log and the lines that it writes.
func New(t testing.TB) (*audit.Log, *Lines) {
	t.Helper()
	s := &Lines{}
	log, err := audit.Open(nil, audit.Options{Others: []audit.Sink{s}})
	if err != nil {
		t.Fatal(err)
	}
	return log, s
}

// Write implements [audit.Sink].
func (s *Lines) Write(l audit.Line) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, l)
	return nil
}

// Close implements [audit.Sink].
func (*Lines) Close() error { return nil }

// All returns a copy of the lines that were written.
func (s *Lines) All() []audit.Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Events returns the events that were written. Each comes with the values of the given attributes.
func (s *Lines) Events(attributes ...string) (all []string) {
	for _, l := range s.All() {
		text := l.Event
		for _, a := range l.Attrs {
			if slices.Contains(attributes, a.Key) {
				text += " " + a.Value.String()
			}
		}
		all = append(all, text)
	}
	return all
}
