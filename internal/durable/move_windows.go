package durable

import (
	"os"

	"golang.org/x/sys/windows"
)

// SyncsDirectories reports whether a new file name is durable only after a sync of its directory.
// Windows cannot sync a directory. Instead, a move returns only after the new name is on the disk,
// and the sync of a created file also writes its name, which is in the journal of NTFS.
const SyncsDirectories = false

// Publish gives a complete file the name under which other programs read it, or fails if a file
// with this name exists. The old name does not remain. The file must be closed.
func Publish(from, to string) error { return move(from, to, windows.MOVEFILE_WRITE_THROUGH) }

func rename(from, to string) error {
	return move(from, to, windows.MOVEFILE_WRITE_THROUGH|windows.MOVEFILE_REPLACE_EXISTING)
}

func move(from, to string, flags uint32) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(old, name, flags); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
