//go:build unix

package private

import (
	"io/fs"
	"syscall"
)

// belongsToRoot reports whether root owns a file.
func belongsToRoot(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0
}
