package cli

import (
	"errors"
	"io/fs"
	"syscall"
)

// Remedy returns a text to append to the message of an error. The text says how to mend a full disk
// or a lack of permissions. For any other error it is "".
func Remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": free space on this disk, and run the command again"
	case errors.Is(err, syscall.EROFS):
		return ": choose a disk that is not read-only"
	case errors.Is(err, fs.ErrPermission):
		return ": run the command as the owner of this file or directory, or change its permissions with chmod or setfacl"
	}
	return ""
}
