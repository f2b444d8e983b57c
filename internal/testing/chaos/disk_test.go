package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"unsafe"

	"go.etcd.io/bbolt"
)

// A disk tracks which bytes of a database would survive a power failure. The file itself has the
// content of the operating system's page cache.
//
// To commit a transaction, bbolt writes its pages, syncs, writes one of the two meta pages, and
// syncs again. The hook that this package uses reports only the writes, so a disk assumes one sync
// before and one after each write of a meta page.
type disk struct {
	durable []byte
	// dirty has the unsynced writes in order. After a power failure, each of them is on the disk
	// entirely, partly or not at all.
	//
	// When a sync fails, the operating system marks dirty pages as clean. No later sync writes
	// them, but readers of the file see them until the power fails.
	dirty []written
	files *tree
}

type written struct {
	bytes []byte
	at    int64
}

var (
	errDead = errors.New("this process was killed")
	errIO   = errors.New("input/output error")
	errFull = errors.New("no space left on device")
)

// intercept replaces the writes of a database to its file by calls of f. f gets the file, the bytes
// and the offset.
func intercept(db *bbolt.DB, f func(file *os.File, b []byte, off int64) (int, error)) {
	in := reflect.ValueOf(db).Elem()
	file := *(**os.File)(unsafe.Pointer(in.FieldByName("file").UnsafeAddr()))
	hook := in.FieldByName("ops").FieldByName("writeAt") // the hook that bbolt has for its own tests
	*(*func([]byte, int64) (int, error))(unsafe.Pointer(hook.UnsafeAddr())) = func(b []byte, off int64) (int, error) {
		return f(file, b, off)
	}
}

// begin makes the disk track the file at path, unless it already does. It takes the present
// contents of the file to be durable.
func (d *disk) begin(path string) (err error) {
	if d.durable == nil {
		d.durable, err = os.ReadFile(path)
	}
	return err
}

// wrote records a write that has changed the file.
func (d *disk) wrote(b []byte, off int64) {
	d.dirty = append(d.dirty, written{slices.Clone(b), off})
}

func (d *disk) sync() {
	for _, w := range d.dirty {
		d.durable = put(d.durable, w.bytes, w.at)
	}
	d.dirty = nil
}

// unsynced simulates a failing sync. With probability 1/2, a write in d.dirty becomes durable;
// otherwise it never will.
func (d *disk) unsynced(rng *rand.Rand) {
	for _, w := range d.dirty {
		if rng.IntN(2) == 0 {
			d.durable = put(d.durable, w.bytes, w.at)
		}
	}
	d.dirty = nil
}

// fail returns the contents that a file has after a power failure.
func (d *disk) fail(rng *rand.Rand) []byte {
	for _, w := range d.dirty {
		switch rng.IntN(3) {
		case 0:
			continue
		case 1:
			w.bytes = w.bytes[:rng.IntN(len(w.bytes)+1)]
		}
		d.durable = put(d.durable, w.bytes, w.at)
	}
	d.dirty = nil
	return slices.Clone(d.durable)
}

func put(image, b []byte, off int64) []byte {
	if need := int(off) + len(b); need > len(image) {
		image = append(image, make([]byte, need-len(image))...)
	}
	copy(image[off:], b)
	return image
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
}

// databaseIn returns the path of the database in a state directory, or "" if there is none.
func databaseIn(dir string) string {
	for _, name := range []string{"coordinator.db", "ledger.db"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// survive copies the state of a killed process to the directory in which the process will start
// again. If power is true, unsynced data may be lost.
func (d *disk) survive(from, to string, power bool, rng *rand.Rand) error {
	if err := copyTree(from, to); err != nil {
		return fmt.Errorf("the state that %s leaves: %w", from, err)
	}
	path := databaseIn(to)
	if !power || path == "" || d.durable == nil {
		return nil
	}
	if err := os.WriteFile(path, d.fail(rng), 0o600); err != nil {
		return err
	}
	d.files.fail(rng)
	return d.files.write(to)
}
