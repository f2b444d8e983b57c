//go:build !windows

package private

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// others are the permissions that a file may give to users other than the owner.
const others = 0o077

// Exposed describes which other users can access a file or directory, and how to prevent that. Both
// texts are "" if only the owner has access.
func Exposed(path string, info fs.FileInfo) (access, remedy string, err error) {
	if info.Mode().Perm()&others == 0 {
		return "", "", nil
	}
	return describe(info), command(path, info), nil
}

func describe(info fs.FileInfo) string { return fmt.Sprintf("mode %04o", info.Mode().Perm()) }

func command(path string, info fs.FileInfo) string {
	if info.IsDir() {
		return "chmod 700 " + path
	}
	return "chmod 600 " + path
}

// exposedGrant is like Exposed, but for a file that another user may have made for this one. If
// root owns the file, a group may read it.
func exposedGrant(path string, info fs.FileInfo) (access, remedy string, err error) {
	mode := info.Mode().Perm()
	s, ok := info.Sys().(*syscall.Stat_t)
	root := ok && s.Uid == 0
	if mode&(others&^0o040) == 0 && (mode&0o040 == 0 || root) {
		return "", "", nil
	}
	return describe(info), command(path, info) + ", or chmod 640 if root owns it", nil
}

// Mkdir makes a directory that only its owner can enter. If it exists, the error is fs.ErrExist.
func Mkdir(dir string) error { return os.Mkdir(dir, dirMode) }
