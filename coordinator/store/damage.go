package store

import (
	"errors"
	"fmt"

	"fedpvi/internal/durable"
)

// errUnreadable is returned if bbolt panics because its file is damaged.
var errUnreadable = fmt.Errorf("%w: it cannot be read", ErrDamaged)

// readable runs f, which uses the database. If bbolt panics because its file is damaged, readable
// returns errUnreadable.
func readable(f func() error) error {
	err := durable.Guard(f)
	if errors.Is(err, durable.ErrDamaged) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return err
}

// readable runs f like the function readable. If the database is damaged, it also marks the store
// as lost, because bbolt has stopped in the middle of an operation and may still hold its locks.
func (s *Store) readable(f func() error) error {
	err := readable(f)
	if errors.Is(err, errUnreadable) {
		s.mu.Lock()
		s.lost = err
		s.mu.Unlock()
	}
	return err
}
