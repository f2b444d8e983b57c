package durable

import (
	"errors"
	"os"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/internal/pages"
)

// lockRetry is how long to wait before a lock is tried again.
const lockRetry = 50 * time.Millisecond

// lookedThrough returns options with which bbolt opens a file that was looked through.
func lookedThrough(o *bbolt.Options) *bbolt.Options {
	with := *bbolt.DefaultOptions
	if o != nil {
		with = *o
	}
	usual := with.PageSize
	if usual == 0 {
		usual = os.Getpagesize()
	}
	with.OpenFile = func(path string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(path, flag, mode)
		if err != nil {
			return nil, err
		}
		if err := look(f, with.Timeout, usual); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return &with
}

// look looks through a file under its lock, which it keeps: nobody writes to it before bbolt has it, which takes the
// same lock once more. An empty file is a new one.
func look(f *os.File, wait time.Duration, usual int) error {
	for begun := time.Now(); ; time.Sleep(lockRetry) {
		free, err := lock(f)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil // there is no lock that can be taken twice, and without one the file may be half written
		}
		if err != nil {
			return err
		}
		if free {
			break
		}
		if wait != 0 && time.Since(begun) > wait-lockRetry {
			return bolterrors.ErrTimeout
		}
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	return pages.Check(f, info.Size(), usual)
}
