package private

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var errDisk = errors.New("the disk says no")

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// own returns the path of a file whose directory does not exist yet.
func own(t *testing.T) string { return filepath.Join(t.TempDir(), "state", "file") }

func TestOnlyTheOwnerMayReadAFile(t *testing.T) {
	path := own(t)
	check(t, Create(path, []byte("first")))
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if got, err := Read(path, 5); err != nil || string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	if err := Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was overwritten: %v", err)
	}
	if err := Replace(path, []byte("third")); err != nil {
		t.Error(err)
	}
	if got, err := Read(path, 5); err != nil || string(got) != "third" {
		t.Errorf("%q, %v", got, err)
	}
	alone(t, path)
}

// alone fails the test unless the file at path is the only one in its directory.
func alone(t *testing.T, path string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != filepath.Base(path) {
		t.Errorf("the directory contains %v, %v", left, err)
	}
}

func TestOrderOfWriting(t *testing.T) {
	var order []string
	d := system
	d.write = func(f *os.File, data []byte) error { order = append(order, "write"); return system.write(f, data) }
	d.sync = func(f *os.File) error {
		info, err := f.Stat()
		order = append(order, map[bool]string{true: "sync directory", false: "sync file"}[err == nil && info.IsDir()])
		return system.sync(f)
	}
	publish := func(from, to string) error { order = append(order, "name"); return os.Link(from, to) }
	path := filepath.Join(t.TempDir(), "new", "newer", "file")
	check(t, d.put(path, []byte("x"), publish))
	if want := []string{"sync directory", "sync directory", "write", "sync file", "name", "sync directory"}; !slices.Equal(order, want) {
		t.Errorf("%v, not %v", order, want)
	}
}

func TestFailedWriteLeavesAWholeFile(t *testing.T) {
	for name, tc := range map[string]struct {
		breakIt func(d *disk)
		written bool // whether path has the new content although put returns an error
	}{
		"a partial write": {func(d *disk) {
			d.write = func(f *os.File, data []byte) error { f.Write(data[:1]); return errDisk }
		}, false},
		"the file is not synced": {func(d *disk) { d.sync = func(*os.File) error { return errDisk } }, false},
		"the rename fails":       {func(d *disk) { d.rename = func(string, string) error { return errDisk } }, false},
		"the directory is not synced": {func(d *disk) {
			d.sync = func(f *os.File) error {
				if info, err := f.Stat(); err == nil && info.IsDir() {
					return errDisk
				}
				return nil
			}
		}, true},
	} {
		path := own(t)
		check(t, Create(path, []byte("old")))
		d := system
		tc.breakIt(&d)
		if err := d.put(path, []byte("new"), d.rename); !errors.Is(err, errDisk) {
			t.Errorf("%s: the error was %v", name, err)
		}
		want := map[bool]string{true: "new", false: "old"}[tc.written]
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		alone(t, path)
	}
}

func TestUnsafeFilesAreNotRead(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"no file":         {os.Remove, "no such file"},
		"group reads":     {func(p string) error { return os.Chmod(p, 0o640) }, "chmod 600"},
		"others read":     {func(p string) error { return os.Chmod(p, 0o604) }, "chmod 600"},
		"others write":    {func(p string) error { return os.Chmod(p, 0o602) }, "chmod 600"},
		"open directory":  {func(p string) error { return os.Chmod(filepath.Dir(p), 0o750) }, "chmod 700"},
		"too long":        {func(p string) error { return os.WriteFile(p, make([]byte, 6), 0o600) }, "6 bytes, more than the limit of 5"},
		"a symbolic link": {func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) }, "symbolic link"},
		"a directory":     {func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "a directory"},
		"a linked directory": {
			func(p string) error {
				dir := filepath.Dir(p)
				return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
			}, "not a directory (a symbolic link)",
		},
		"a directory of another kind": {
			func(p string) error {
				dir := filepath.Dir(p)
				return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
			}, "not a directory (a file)",
		},
	} {
		path := own(t)
		check(t, Create(path, []byte("plain")))
		check(t, tc.change(path))
		if got, err := Read(path, 5); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestOpenDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "file")
	if err := Create(path, []byte("x")); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("%v", err)
	}
	alone(t, path)
}

// Another process could replace the file between Lstat and Open. The test does so.
func TestReplacedFileIsRefused(t *testing.T) {
	path := own(t)
	check(t, Create(path, []byte("own")))
	d := system
	d.open = func(p string) (*os.File, error) {
		if err := Replace(p, []byte("new")); err != nil {
			t.Error(err)
		}
		return os.Open(p)
	}
	if got, err := d.read(path, 5); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("%q, %v", got, err)
	}
}

// The file grows after Stat.
func TestGrowingFileIsRefused(t *testing.T) {
	path := own(t)
	check(t, Create(path, bytes.Repeat([]byte("x"), 9)))
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	if _, err := readAll(f, path, 8); err == nil {
		t.Error("nine bytes were read where eight were allowed")
	}
}
