package store

import (
	"errors"
	"fmt"

	"fedpvi/internal/durable"
)

// errUnreadable is returned for damage that bbolt finds after the file was opened.
var errUnreadable = fmt.Errorf("%w: it cannot be read", ErrDamaged)

// readable runs f, which reads or writes the file, and returns errUnreadable if bbolt cannot continue.
func readable(f func() error) error {
	err := durable.Guard(f)
	if errors.Is(err, durable.ErrDamaged) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return err
}

// readable is like the function readable. After an error the store is not used any more: bbolt stopped in the
// middle of its work and may hold its locks.
func (s *Store) readable(f func() error) error {
	err := readable(f)
	if errors.Is(err, errUnreadable) {
		s.mu.Lock()
		s.lost = err
		s.mu.Unlock()
	}
	return err
}
