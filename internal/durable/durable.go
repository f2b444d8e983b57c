// Package durable opens databases of which nothing is believed that is not on the disk.
//
// What a program reads from a file after a crash, or after a sync that failed, is what the
// operating system shows of it: the page cache. Of a sync that fails Linux takes what was not
// written for clean: the file goes on showing it, no later sync writes it, and a power failure
// takes it away (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC
// 2020). A transaction that seems to be there may then be told to others and be gone
// later, and one that is built on it is damaged.
//
// So a file is written anew, the same bytes in the same places, and synced, before what
// is in it is believed: when it is opened, and after a commit that failed. And before it is opened, it is
// looked through: bbolt believes the sizes that a file says ([pages]).
package durable

import (
	"errors"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// A File is the file of a database.
type File interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

// A Layer lies between databases and their files. The zero Layer is nothing in between; tests
// have others.
type Layer struct {
	// Opened is told of a database, before anything is written.
	Opened func(*bbolt.DB)
	// File opens the file of a database, to write it anew.
	File func(path string) (File, error)
}

// Open opens a database as bbolt does, to write to it. It is to be settled before anything in it is believed. Open fails
// with a [*pages.Damage] if the file is damaged.
func (l Layer) Open(path string, mode os.FileMode, o *bbolt.Options) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, mode, lookedThrough(o))
	if err != nil {
		return nil, err
	}
	if l.Opened != nil {
		l.Opened(db)
	}
	return db, nil
}

// Settle writes a database anew and syncs it, so that what it shows is on the disk: first the
// pages, then the two that point to all others. Nobody writes to it meanwhile. A crash or an
// error leaves the old or the same bytes everywhere: no page that is pointed to changes.
func (l Layer) Settle(db *bbolt.DB) error {
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was changed
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
		return fmt.Errorf("writing %s anew: %w", db.Path(), err)
	}
	return nil
}

func (l Layer) open(path string) (File, error) {
	if l.File != nil {
		return l.File(path)
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// chunk is how much is written at once.
const chunk = 1 << 20

// rewrite writes the bytes of a file from one offset to another in their own places, and syncs.
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
