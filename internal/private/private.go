// Package private reads and writes files that only their owner may read, in directories that only
// their owner may enter. A write is atomic and survives a power failure.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fedpvi/internal/durable"
)

const (
	dirMode = 0o700

	// Unfinished is a pattern that matches the temporary files that interrupted writes leave
	// behind.
	Unfinished = ".new-*"
)

// disk has the file system operations that a test can replace.
type disk struct {
	write  func(f *os.File, data []byte) error
	sync   func(f *os.File) error
	link   func(temporary, path string) error
	rename func(temporary, path string) error
	open   func(path string) (*os.File, error)
}

var system = disk{
	write:  func(f *os.File, data []byte) error { _, err := f.Write(data); return err },
	sync:   (*os.File).Sync,
	link:   durable.Publish,
	rename: durable.System{}.Rename,
	open:   os.Open,
}

// Create writes a new file. If necessary, it makes the directory. It fails if the file exists. Once
// Create has returned without an error, the file survives a power failure. At no time does the path
// have only a part of the data.
func Create(path string, data []byte) error {
	return system.put(path, data, system.link)
}

// Replace is like Create, but replaces an existing file.
func Replace(path string, data []byte) error {
	return system.put(path, data, system.rename)
}

// Exists reports whether there is a file at path.
func Exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Remove removes a file, so that the file stays away even after a power failure. It succeeds if the
// file does not exist.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return system.syncDirectory(filepath.Dir(path))
}

func (d disk) put(path string, data []byte, publish func(temporary, path string) error) (err error) {
	dir := filepath.Dir(path)
	if err := d.makeDirectory(dir); err != nil {
		return err
	}
	if err := checkDirectory(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, Unfinished) // CreateTemp sets mode 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close() // the file is already closed, or another error is returned
		if e := os.Remove(f.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	// Windows cannot move an open file.
	if err := errors.Join(d.write(f, data), d.sync(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := publish(f.Name(), path); err != nil {
		return err
	}
	return d.syncDirectory(dir)
}

// MakeDirectory makes a directory and its missing parents. Only their owner may enter them. It
// fails if the directory exists and others may enter it.
func MakeDirectory(dir string) error {
	if err := system.makeDirectory(dir); err != nil {
		return err
	}
	return checkDirectory(dir)
}

// makeDirectory makes dir and its missing parents, and syncs each directory to disk.
func (d disk) makeDirectory(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err // if err is nil, dir exists, and checkDirectory examines it later
	}
	parent := filepath.Dir(dir)
	if err := d.makeDirectory(parent); err != nil {
		return err
	}
	if err := Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.syncDirectory(parent)
}

func (d disk) syncDirectory(dir string) error {
	if !durable.SyncsDirectories {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.sync(f), f.Close())
}

// Read returns the content of a file, which may have at most limit bytes. It must be a regular file
// that only its owner may read, in a directory that only its owner may enter. Otherwise the error
// explains how to correct the mode.
func Read(path string, limit int) ([]byte, error) { return system.read(path, limit) }

func (d disk) read(path string, limit int) ([]byte, error) {
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return nil, err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(path, named); err != nil {
		return nil, err
	}
	f, err := d.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(named, opened) {
		return nil, fmt.Errorf("%s was replaced while it was opened: find out which program writes there", path)
	}
	access, remedy, err := Exposed(path, opened)
	if err != nil {
		return nil, err
	}
	if access != "" {
		return nil, fmt.Errorf("%s may be read by others (%s): %s, and replace the key in it if others had access", path, access, remedy)
	}
	if opened.Size() > int64(limit) {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d: it is probably the wrong file", path, opened.Size(), limit)
	}
	return readAll(f, path, limit)
}

// Names returns the names of the files in a directory in order. If there is no such directory, it
// returns none.
func Names(dir string) (names []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names, nil
}

// readAll fails if there are more than limit bytes, because the file may have grown since Stat.
func readAll(f *os.File, path string, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("%s grew while it was read: find out which program writes there", path)
	}
	return data, nil
}

// ReadGranted returns the content of a file that somebody else may have made for this user, such as
// a systemd credential. It may have at most limit bytes. The path may lead to a link or a pipe.
// ReadGranted fails if anybody but the owner may read or write the file.
//
// There is one exception: a group may read a file of root, because systemd and administrators grant
// files in this way. If a file of mode 0440 has an access control list, the group bits are the mask
// of the list, not the rights of the group. Such a file is also accepted if root owns it.
func ReadGranted(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name the file", path)
	}
	access, remedy, err := exposedGrant(path, info)
	if err != nil {
		return nil, err
	}
	if access != "" {
		return nil, fmt.Errorf("%s may be read or written by others (%s): %s", path, access, remedy)
	}
	return readAll(f, path, limit)
}

// CheckFile returns an error unless path is a regular file that only its owner may read. info is
// the result of [os.Lstat].
func CheckFile(path string, info fs.FileInfo) error {
	if err := checkRegular(path, info); err != nil {
		return err
	}
	access, remedy, err := Exposed(path, info)
	if err == nil && access != "" {
		err = fmt.Errorf("%s may be read by others (%s): %s", path, access, remedy)
	}
	return err
}

func checkRegular(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not an ordinary file (%s): put the file itself there, not a link", path, kind(info.Mode()))
	}
	return nil
}

func checkDirectory(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory (%s): name the directory itself", dir, kind(info.Mode()))
	}
	access, remedy, err := Exposed(dir, info)
	if err != nil {
		return err
	}
	if access != "" {
		return fmt.Errorf("directory %s is open to others (%s): %s", dir, access, remedy)
	}
	return nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode.IsRegular():
		return "a file"
	default:
		return "a device, socket or pipe"
	}
}
