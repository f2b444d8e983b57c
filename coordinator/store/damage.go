package store

import (
	"errors"
	"fmt"

	"fedpvi/internal/durable"
)

// errUnreadable is damage that bbolt runs into after the file was opened.
var errUnreadable = fmt.Errorf("%w: it cannot be read", ErrDamaged)

// readable runs f, which reads or writes the file, and returns errUnreadable where bbolt cannot go on.
func readable(f func() error) error {
	err := durable.Guard(f)
	if errors.Is(err, durable.ErrDamaged) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return err
}

// readable is [readable] for an open store, which is not used any more after such an error: bbolt stopped half
// way and may hold its locks.
func (s *Store) readable(f func() error) error {
	err := readable(f)
	if errors.Is(err, errUnreadable) {
		s.mu.Lock()
		s.lost = err
		s.mu.Unlock()
	}
	return err
}
