//go:build unix && !solaris && !aix && !android

package durable

import (
	"os"
	"syscall"
)

// unlock releases bbolt's lock on a file. Closing the file is not enough after a panic of bbolt.
// The file is then still mapped, and the lock lasts as long as the mapping.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
