package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files creates, extends, renames and removes files. Programs use [System], and tests inject
// faults.
type Files interface {
	Create(path string) (NewFile, error)
	// Append opens a file for appending.
	Append(path string) (NewFile, error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir makes the file names in a directory durable.
	SyncDir(dir string) error
}

// A NewFile is a file that is open for writing.
type NewFile interface {
	io.WriteCloser
	Sync() error
}

// System is the file system of this machine.
type System struct{}

// Create creates a file that only its owner can access.
func (System) Create(path string) (NewFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Append opens an existing file for appending.
func (System) Append(path string) (NewFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

// Rename moves a file to another path, replacing any file there.
func (System) Rename(from, to string) error { return rename(from, to) }

// Remove removes a file.
func (System) Remove(path string) error { return os.Remove(path) }

// SyncDir syncs a directory. It does nothing if [SyncsDirectories] is false, or if this user may
// not read the directory. Then another user has created it, and its name is already durable.
func (System) SyncDir(dir string) error {
	if !SyncsDirectories {
		return nil
	}
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// files returns l.Files, or System if it is not set.
func (l Layer) files() Files {
	if l.Files != nil {
		return l.Files
	}
	return System{}
}

// Finish makes a file durable under another name. It syncs and closes the file, renames it, and
// syncs the directory.
func (l Layer) Finish(f NewFile, from, to string) error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := l.files().Rename(from, to); err != nil {
		return err
	}
	return l.files().SyncDir(filepath.Dir(to))
}

// Create creates a file that only its owner can access.
func (l Layer) Create(path string) (NewFile, error) { return l.files().Create(path) }

// Append opens an existing file for appending.
func (l Layer) Append(path string) (NewFile, error) { return l.files().Append(path) }

// Remove removes a file.
func (l Layer) Remove(path string) error { return l.files().Remove(path) }

// SyncDir makes the file names in a directory durable.
func (l Layer) SyncDir(dir string) error { return l.files().SyncDir(dir) }
