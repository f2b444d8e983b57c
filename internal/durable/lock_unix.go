//go:build unix && !solaris && !aix && !android

package durable

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the lock of a file that bbolt takes, or reports that somebody else has it.
func lock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
