package store

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// bbolt remembers of each page which transaction took it, until the page is free again or the file is closed. For a
// coordinator that serves for months, and whose file grows meanwhile, that is memory without bound. So the file is opened anew
// when so many pages have come into use.

// errTaken says that the file is another one since it was opened anew.
var errTaken = errors.New("another program has written to the state while the file was opened anew")

// A mark is where a file is.
type mark struct {
	transaction int // the last one
	pages       int64
}

// mark returns where the file is, with the pages that are in use.
func (s *Store) mark() (m mark, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		free := s.db.Stats()
		m = mark{tx.ID(), tx.Size()/int64(s.db.Info().PageSize) - int64(free.FreePageN+free.PendingPageN)}
		return nil
	})
	return m, err
}

// renewed opens the file anew if it is time and nobody reads it. Nothing is done with the store any more if that fails.
func (s *Store) renewed() {
	var due bool
	err := s.inside(func() error {
		m, err := s.mark()
		due = m.pages-s.begun >= s.renew
		return err
	})
	if err != nil || !due || !s.gate.TryLock() {
		return // or after a later transaction, when nobody reads: a bundle that is written somewhere takes its time
	}
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil || s.unsound {
		return // what is not on the disk may be in the file
	}
	if err := readable(s.openAnew); err != nil {
		s.lost = fmt.Errorf("%w: start the coordinator again", err)
	}
}

func (s *Store) openAnew() error {
	before, err := s.mark()
	if err != nil || before.pages-s.begun < s.renew { // another transaction was faster
		return err
	}
	if err := s.db.Close(); err != nil {
		return err
	}
	if s.db, err = s.open(); err != nil {
		return err
	}
	after, err := s.mark()
	if err == nil && after.transaction != before.transaction {
		return errors.Join(errTaken, s.db.Close())
	}
	s.begun = after.pages
	return err
}
