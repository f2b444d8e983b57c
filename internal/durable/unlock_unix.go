//go:build unix && !solaris && !aix && !android

package durable

import (
	"os"
	"syscall"
)

// unlock releases bbolt's lock on a file. If bbolt has panicked, closing the file is not enough,
// because the file is still mapped and the lock lasts as long as the mapping.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
