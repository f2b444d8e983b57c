package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// errUnreadable is the kind of damage that bbolt finds itself.
var errUnreadable = fmt.Errorf("%w: it cannot be read", ErrDamaged)

// readable runs f, which reads or writes the file, and says that the file is damaged where bbolt
// cannot go on: it panics where a page is none, and reading behind the end of a file that was cut faults.
// Any other panic is a fault of this program, and goes on.
func readable(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if !ofTheFile(r) {
				panic(r)
			}
			err = fmt.Errorf("%w: %v", errUnreadable, r)
		}
	}()
	return f()
}

// readable is [readable] for an open file, with which nothing is done any more when that fails: bbolt stopped half way, and may
// hold its locks.
func (s *Store) readable(f func() error) error {
	err := readable(f)
	if errors.Is(err, errUnreadable) {
		s.mu.Lock()
		s.lost = err
		s.mu.Unlock()
	}
	return err
}

// ofTheFile reports whether a panic that is being recovered from is one of bbolt, or of memory that the
// file should be behind.
func ofTheFile(r any) bool {
	if _, fault := r.(interface{ Addr() uintptr }); fault {
		return true
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicked := false; ; {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(frame.Function, "runtime."):
			return strings.HasPrefix(frame.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}
