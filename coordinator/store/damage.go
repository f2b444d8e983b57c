package store

import (
	"errors"
	"fmt"

	"fedpvi/internal/durable"
)

// errUnreadable is returned if bbolt finds damage while it reads or writes the file.
var errUnreadable = fmt.Errorf("%w: it cannot be read", ErrDamaged)

// readable runs f, which reads or writes the file, and returns errUnreadable if bbolt cannot continue.
func readable(f func() error) error {
	err := durable.Guard(f)
	if errors.Is(err, durable.ErrDamaged) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return err
}

// readable calls the function readable. After errUnreadable the store is not used any more,
// because bbolt has stopped in the middle of its work and may still hold its locks.
func (s *Store) readable(f func() error) error {
	err := readable(f)
	if errors.Is(err, errUnreadable) {
		s.mu.Lock()
		s.lost = err
		s.mu.Unlock()
	}
	return err
}
