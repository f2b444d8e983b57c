package cli

import (
	"errors"
	"io/fs"
	"syscall"
)

// Remedy returns advice that can be appended to an error message about a full disk or missing
// permissions. For other errors it returns "".
func Remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": free space on this disk, and run the command again"
	case errors.Is(err, syscall.EROFS):
		return ": choose a disk that is not read-only"
	case errors.Is(err, fs.ErrExist):
		return ": choose another name, or move the file away"
	case errors.Is(err, fs.ErrPermission):
		return ": run the command as the owner of this file or directory, or change its permissions with chmod or setfacl"
	}
	return ""
}
