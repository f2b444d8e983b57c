package durable

import (
	"os"

	"golang.org/x/sys/windows"
)

// SyncsDirectories reports whether a new file name becomes durable only when its directory is
// synced. Windows cannot sync a directory. Instead, a move returns only when the new name is on the
// disk. Syncing a new file also writes its name, which is in NTFS's journal.
const SyncsDirectories = false

// Publish gives a complete file the name under which other programs read it. It fails if a file
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
