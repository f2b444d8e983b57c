//go:build !windows

package durable

import "os"

// SyncsDirectories reports whether a new file name becomes durable only when its directory is
// synced.
const SyncsDirectories = true

// Publish gives a complete file the name under which other programs read it. It fails if a file
// with this name exists. The old name may remain.
func Publish(from, to string) error { return os.Link(from, to) } // unlike a rename, a link fails if the file exists

func rename(from, to string) error { return os.Rename(from, to) }
