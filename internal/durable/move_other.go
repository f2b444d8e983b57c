//go:build !windows

package durable

import "os"

// SyncsDirectories reports whether a new file name is durable only after a sync of its directory.
const SyncsDirectories = true

// Publish gives a file another name, under which it is whole. It returns an error if there is a file
// with this name. The old name may remain.
func Publish(from, to string) error { return os.Link(from, to) } // unlike a rename, a link fails if the file exists

func rename(from, to string) error { return os.Rename(from, to) }
