package ledger

import (
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Interrupt makes the store call f before and after each commit. The name is, for example, "charge:
// before the commit". If f fails, the transaction fails.
func (s *Store) Interrupt(f func(point string) error) { s.boundary = f }

// Abandon closes the file without cleaning up, as if the process were killed.
func (s *Store) Abandon() error { return errors.Join(s.anchor.file.Close(), s.db.Close()) }

// Unanchor turns the store into one of an earlier version, which wrote no marks.
func (s *Store) Unanchor() error {
	return errors.Join(os.Remove(filepath.Join(s.dir, AnchorFile)), s.db.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		return errors.Join(meta.Put(formatKey, []byte(unanchored)), meta.Delete(markKey))
	}))
}

func (s *Store) Format() (format string, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		format = string(tx.Bucket(metaBucket).Get(formatKey))
		return nil
	})
	return format, err
}

func (s *Store) SetFormat(format string) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(formatKey, []byte(format)) })
}

// Forge signs an entry without checking it, as a dishonest data holder might.
func (s *Store) Forge(e Entry, envelope Hash) ([]byte, Hash, error) {
	stamp, err := sign(s.holder, e, func(Hash) (Hash, error) { return envelope, nil })
	return stamp.line, stamp.Hash, err
}

func (s *Store) ForgeTitle(title []byte) [64]byte { return s.holder.Sign(titleDomain, title) }

func (s Stamp) Line() []byte { return s.line }
