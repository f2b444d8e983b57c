// Package durable opens bbolt databases so that a program acts only on data that is on the disk.
//
// After a crash or a failed sync, a program that reads a file gets the pages in the operating
// system's page cache. When a sync fails, Linux marks the pages that were not written as clean. The
// file still shows these pages, but no later sync writes them, and a power failure loses them
// (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020). A program
// could then report that a transaction is done, although a power failure would lose it and damage
// later transactions that depend on it.
//
// So the package writes the same bytes of the file again and syncs them before the contents are
// used: when the file is opened and after a failed commit. When a file is opened, the package also
// checks it, because bbolt does not check sizes and page numbers.
package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A File is the file of a database, with the methods that [Layer.Settle] needs.
type File interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

// A Layer determines how a store accesses its files, so that tests can inject faults. The zero
// Layer uses the operating system directly.
type Layer struct {
	// Opened, if set, is called after a database has been opened, and before anything is written.
	Opened func(*bbolt.DB)
	// File opens the file of a database for [Layer.Settle].
	File func(path string) (File, error)
	// Files gives access to the store's other files. The default is [System].
	Files Files
}

// Open opens a database for writing, as [bbolt.Open] does, and checks it. The caller must call
// Settle before it relies on the contents. If the file is damaged, Open returns [ErrDamaged] and
// releases the lock.
func (l Layer) Open(path string, mode os.FileMode, o *bbolt.Options) (*bbolt.DB, error) {
	with := *bbolt.DefaultOptions
	if o != nil {
		with = *o
	}
	var file *os.File
	with.OpenFile = func(path string, flag int, mode os.FileMode) (f *os.File, err error) {
		file, err = os.OpenFile(path, flag, mode)
		return file, err
	}
	var db *bbolt.DB
	err := Guard(func() (err error) {
		if err = checkFreeList(path, with); err == nil {
			db, err = bbolt.Open(path, mode, &with)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(damage(err), closed(file))
	}
	if err := Guard(func() error { return check(db, file) }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if l.Opened != nil {
		l.Opened(db)
	}
	return db, nil
}

// damage adds ErrDamaged to an error, unless it comes from the operating system or from a lock.
func damage(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) || errors.Is(err, bolterrors.ErrTimeout) || errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// closed unlocks and closes a file, which bbolt may have closed already.
func closed(file *os.File) error {
	if file == nil {
		return nil
	}
	unlock(file)
	if err := file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Settle makes sure that a database is on the disk: it writes the bytes of the file again and syncs
// them. The two meta pages come last, because they point to all other pages. Meanwhile, Settle
// holds the write lock. A crash or an error does no damage, because the file already has these
// bytes.
func (l Layer) Settle(db *bbolt.DB) error {
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	// The transaction has changed no page, so there is nothing to roll back.
	defer func() { _ = tx.Rollback() }()
	f, err := l.open(db.Path())
	if err != nil {
		return err
	}
	page := int64(db.Info().PageSize)
	err = rewrite(f, 2*page, tx.Size())
	if err == nil {
		err = rewrite(f, 0, 2*page)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s again: %w", db.Path(), err)
	}
	return nil
}

func (l Layer) open(path string) (File, error) {
	if l.File != nil {
		return l.File(path)
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// chunk is the maximum number of bytes in one write.
const chunk = 1 << 20

// rewrite writes the bytes between two offsets once more, and syncs the file.
func rewrite(f File, from, to int64) error {
	b := make([]byte, min(chunk, max(to-from, 0)))
	for at := from; at < to; at += int64(len(b)) {
		b = b[:min(int64(len(b)), to-at)]
		if _, err := f.ReadAt(b, at); err != nil {
			return err
		}
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	return f.Sync()
}
