package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/internal/durable"
	"fedpvi/internal/private"
)

const (
	fileName    = "coordinator.db"
	pageSize    = 16 << 10 // page size of new files; bbolt uses memory for each page while the file is open
	defaultWait = time.Second
	// These are the versions of the file format. A program refuses a file that has a version it
	// does not know.
	formatFirst = "1"
	formatLong  = "2" // splits long values into parts
	formatSlots = "3" // splits a long value into several database values; may keep the state under another key (see stateSlot)
	formatFiles = "4" // keeps long values in files
	// The later formats add secure aggregation, roster changes, and releases that clients fetch.
	formatShares    = "5"
	formatChanges   = "6"
	formatPublished = "7"
)

// ErrHeld is returned if another program has locked the state directory.
var ErrHeld = errors.New("another coordinator serves from this state directory: stop it first, or choose another directory with --state")

// ErrFormat is returned if a later version of the program has written the state in a format that
// this one does not know.
var ErrFormat = errors.New("the state has a format that this program does not know: use the version that wrote it, or a later one")

// ErrDamaged is returned if the state is inconsistent or cannot be read.
var ErrDamaged = errors.New("the state is damaged: restore the whole state directory from its latest backup")

// A Store keeps a coordinator's state in a directory. It is safe for concurrent use.
type Store struct {
	dir     string
	db      *bbolt.DB
	layer   durable.Layer
	commit  func(commit func() error) error
	long    int64        // maximum size in bytes of a value in the database
	folders sync.Map     // directories that survive a crash, as far as known
	files   atomic.Int64 // number of files written since Open

	mu   sync.Mutex
	lost error // read error that made the store unusable, or nil
	// whether a commit has failed in this process or an earlier one; the operating system's copy of
	// the file may then differ from the disk
	unsound bool
}

// Options configure a store.
type Options struct {
	// Commit, unless nil, is called for each commit, and must call its argument to do the commit.
	// Tests use it to make commits fail.
	Commit func(commit func() error) error
	// Long is the maximum size of a value in the database. Larger values go to files. The default
	// is 1 MiB.
	Long int64
	// Wait is how long Open waits if another program has locked the file. The default is one
	// second.
	Wait time.Duration
	// Layer performs the operations on files.
	Layer durable.Layer
}

// Open opens the store in a directory. It creates the directory and the store if they do not exist.
// Only the owner has access to them.
func Open(dir string, o Options) (*Store, error) {
	if err := private.MakeDirectory(dir); err != nil {
		return nil, err
	}
	path := Path(dir)
	if err := checkFile(path); err != nil {
		return nil, err
	}
	if o.Long == 0 {
		o.Long = defaultLong
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	s := &Store{dir: dir, layer: o.Layer, commit: o.Commit, unsound: true, long: o.Long}
	var err error
	if s.db, err = openFile(path, o); err != nil {
		return nil, err
	}
	if s.commit == nil {
		s.commit = func(commit func() error) error { return commit() }
	}
	err = s.prepare()
	if err == nil {
		err = durable.System{}.SyncDir(dir) // bbolt does not sync the directory after it creates a file
	}
	if err == nil {
		err = s.sweep()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openFile(path string, o Options) (db *bbolt.DB, err error) {
	db, err = o.Layer.Open(path, 0o600, &bbolt.Options{Timeout: o.Wait, FreelistType: bbolt.FreelistMapType, PageSize: pageSize})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", filepath.Dir(path), ErrHeld)
	case errors.Is(err, durable.ErrDamaged):
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	case err != nil:
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return db, nil
}

// Path returns the path of a state directory's database.
func Path(dir string) string { return filepath.Join(dir, fileName) }

// Exists reports whether a state directory contains a store.
func Exists(dir string) bool {
	_, err := os.Stat(Path(dir))
	return err == nil
}

// checkFile returns an error if the file is a symbolic link or a special file, or if other users
// can access it.
func checkFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return private.CheckFile(path, info)
}

func (s *Store) prepare() error {
	return s.Update(func(tx *Tx) error {
		if _, err := tx.tx.CreateBucketIfNotExists(studies); err != nil {
			return err
		}
		about, err := tx.tx.CreateBucketIfNotExists([]byte("about"))
		if err != nil {
			return err
		}
		switch have := about.Get(formatKey); string(have) {
		case formatFirst, formatLong, formatSlots, formatFiles, formatShares, formatChanges, formatPublished:
			return nil
		case "":
			return about.Put(formatKey, []byte(formatFirst))
		}
		return ErrFormat
	})
}

var formatKey = []byte("format")

// atLeast raises the database to the given format, unless it already has a higher one.
func (s Study) atLeast(format string) error {
	about := s.bucket.Tx().Bucket([]byte("about"))
	if string(about.Get(formatKey)) >= format {
		return nil
	}
	return about.Put(formatKey, []byte(format))
}

// Close closes the file. After a read error, the file remains open until the process ends.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		return nil
	}
	return readable(s.db.Close)
}

// A Tx is a transaction. Unless they are copies, the values that its methods return become invalid
// when it ends.
type Tx struct {
	tx      *bbolt.Tx
	store   *Store
	dropped []droppedFile
}

// Update runs f in a transaction. Once it returns nil, the changes are on disk. If f fails, nothing
// changes. If the commit fails, the changes may or may not have been made, and the next transaction
// finds out by reading the disk.
func (s *Store) Update(f func(*Tx) error) error {
	var dropped []droppedFile
	err := s.inside(func() (err error) {
		dropped, err = s.update(f)
		return err
	})
	for _, d := range dropped {
		_ = s.Discard(d.study, d.value) // if this fails, Open will remove the file
	}
	return err
}

// inside runs f, which does one transaction, on a store that is sound. If bbolt panics because its
// file is damaged, inside returns ErrDamaged.
func (s *Store) inside(f func() error) error {
	if err := s.sound(); err != nil {
		return err
	}
	return s.readable(f)
}

// update runs f in a writable transaction. It returns the files that f has dropped. The caller must
// delete them.
func (s *Store) update(f func(*Tx) error) ([]droppedFile, error) {
	tx, err := s.db.Begin(true)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after a commit
	t := &Tx{tx: tx, store: s}
	if err := f(t); err != nil {
		return nil, err
	}
	if err := s.commit(tx.Commit); err != nil {
		s.mu.Lock()
		s.unsound = true
		s.mu.Unlock()
		return nil, err
	}
	return t.dropped, nil
}

// sound makes sure that the whole file is on disk if a commit has failed. It returns an error if
// the store can no longer be used.
func (s *Store) sound() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil || !s.unsound {
		return s.lost
	}
	err := readable(func() error { return s.layer.Settle(s.db) })
	if errors.Is(err, errUnreadable) {
		s.lost = err
	}
	s.unsound = err != nil
	return err
}

// View runs f in a read-only transaction, on data that is on disk.
func (s *Store) View(f func(*Tx) error) error {
	return s.inside(func() error {
		return s.db.View(func(tx *bbolt.Tx) error { return f(&Tx{tx: tx, store: s}) })
	})
}

// Dump calls f with each value in the database. The path consists of the names of its buckets and
// its key.
func (tx *Tx) Dump(f func(path string, value []byte)) error {
	return tx.tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return dump(string(name), b, f) })
}

func dump(path string, b *bbolt.Bucket, f func(string, []byte)) error {
	return b.ForEach(func(k, v []byte) error {
		at := path + "/" + string(k)
		if v == nil {
			return dump(at, b.Bucket(k), f)
		}
		f(at, v)
		return nil
	})
}
