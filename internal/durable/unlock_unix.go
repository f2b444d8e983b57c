//go:build unix && !solaris && !aix && !android

package durable

import (
	"os"
	"syscall"
)

// unlock gives back the lock that bbolt took on a file. Closing the file is not enough: where bbolt panicked, the
// file is still mapped, and the lock lasts as long as the mapping.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
