package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/internal/durable"
)

// Names of the files in a directory of state.
const (
	IdentityFile = "identity.key"
	StateKeyFile = "state.key"
	File         = "ledger.db"
)

// lockWait is how long a store that somebody else holds is waited for.
const lockWait = time.Second

// format is the version of the layout of the file.
const format = "fedpvi client ledger 1"

// The buckets of the file. In meta stand the format and the holder's public key; in chain
// the lines of the chain by their number; in studies a bucket for each study with the parts
// of its state, sealed; in outbox what was paid for and has no outcome yet.
var (
	metaBucket    = []byte("meta")
	chainBucket   = []byte("chain")
	studiesBucket = []byte("studies")
	outboxBucket  = []byte("outbox")

	formatKey = []byte("format")
	holderKey = []byte("holder")
)

// A Store is the ledger of a data holder with the state of its studies, in one file that
// one process at a time may open. Its methods may be called by many at once.
type Store struct {
	dir      string
	path     string // of the file
	holder   *identity.Identity
	key      *seal.Key // of the state at rest
	db       *bbolt.DB
	chain    *chain
	program  string
	guard    chan struct{} // holds one token: a mutex that knows of failure
	broken   error
	layer    durable.Layer
	boundary func(point string) error
}

// Options say who opens a store.
type Options struct {
	Program string    // name and version, for entries
	Command string    // for whoever finds the store in use
	Now     time.Time // for the same
	// Existing says that nothing is to be made: a directory without a store is an error.
	Existing bool
	// Boundary, if there is one, is called before and after the commit of every transaction,
	// and its error is the transaction's: what a crash there leaves behind can be looked at.
	Boundary func(point string) error
	// Layer lies between the database and its file.
	Layer durable.Layer
}

// ErrNothing says that there is no store where one should exist.
var ErrNothing = errors.New("there is no state directory here: client join makes one; or name another with --state")

// Open opens the store in a directory, and makes directory, keys and file if there is
// nothing. It checks the whole chain. It fails with a [*Held] if another process has it
// open, and with a [*Damaged] if what is there is not whole: then nothing may be sent until
// somebody has looked at it.
func Open(dir string, o Options) (*Store, error) {
	path := filepath.Join(dir, File)
	if _, err := os.Lstat(dir); o.Existing && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNothing)
	}
	if err := prepare(dir); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, path: path, program: o.Program, guard: make(chan struct{}, 1), layer: o.Layer, boundary: o.Boundary}
	if err := s.openFile(); err != nil {
		return nil, err
	}
	err := s.readable(func() error { return s.layer.Settle(s.db) })
	if err == nil {
		err = s.load()
	}
	if err == nil {
		err = writeHolder(dir, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.guard <- struct{}{}
	return s, nil
}

// openFile locks the file.
func (s *Store) openFile() error {
	err := s.whole(func() (err error) {
		s.db, err = s.layer.Open(s.path, fileMode, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return readHeld(s.dir)
	}
	return err
}

// prepare makes what is missing of a new directory, and refuses one from which something
// is missing that was there. The file comes before the key of the holder: a holder without
// a file lost it.
func prepare(dir string) error {
	if err := makeDirectory(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, File)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range []string{IdentityFile, StateKeyFile} {
			if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				return &Damaged{Path: path, Problem: "the file is missing, and " + name + " is there: without it nobody knows what has been spent"}
			}
		}
		return createFile(dir, path)
	case err != nil:
		return err
	}
	return checkMode(path, info)
}

// load reads the keys and the chain.
func (s *Store) load() error {
	fresh, err := s.fresh()
	if err == nil {
		err = s.loadKeys(fresh)
	}
	if err != nil {
		return err
	}
	if fresh {
		return s.readable(func() error { return s.db.Update(s.initialise) })
	}
	return s.whole(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			meta := tx.Bucket(metaBucket)
			if got := string(meta.Get(formatKey)); got != format {
				return fmt.Errorf("its layout is %q, not %q: a newer program wrote it, use that one", got, format)
			}
			public := s.holder.Public()
			if string(meta.Get(holderKey)) != string(public[:]) {
				return fmt.Errorf("it belongs to another identity than %s: put the right key back", IdentityFile)
			}
			return s.replay(tx)
		})
	})
}

// loadKeys loads the keys, or makes them for a file that has nothing yet.
func (s *Store) loadKeys(fresh bool) (err error) {
	s.holder, err = keyOf(filepath.Join(s.dir, IdentityFile), fresh, identity.Create, identity.Load)
	if err != nil {
		return err
	}
	s.key, err = keyOf(filepath.Join(s.dir, StateKeyFile), fresh, seal.Create, seal.Load)
	return err
}

// keyOf loads a key. Only beside a new file one may be missing, and is made.
func keyOf[K any](path string, fresh bool, create, load func(string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if fresh {
			return create(path)
		}
		var none K
		return none, &Damaged{Path: path, Problem: "the file is missing, and a ledger that belongs to it is there"}
	}
	return load(path)
}

func (s *Store) fresh() (fresh bool, err error) {
	err = s.whole(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			fresh = tx.Bucket(metaBucket) == nil
			return nil
		})
	})
	return fresh, err
}

func (s *Store) initialise(tx *bbolt.Tx) error {
	s.chain = newChain(s.holder.Public())
	for _, name := range [][]byte{metaBucket, chainBucket, studiesBucket, outboxBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	meta, public := tx.Bucket(metaBucket), s.holder.Public()
	return errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(holderKey, public[:]))
}

// replay checks every entry.
func (s *Store) replay(tx *bbolt.Tx) error {
	s.chain = newChain(s.holder.Public())
	for _, name := range [][]byte{chainBucket, studiesBucket, outboxBucket} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("the part %q is missing", name)
		}
	}
	return tx.Bucket(chainBucket).ForEach(func(k, v []byte) error {
		if next := uint64(len(s.chain.heads)) + 1; len(k) != 8 || binary.BigEndian.Uint64(k) != next {
			return &Fault{Sequence: next, Problem: "it is not where it should be: an entry is missing or out of order"}
		}
		_, err := s.chain.read(append([]byte(nil), v...))
		return err
	})
}

// whole runs f and says that the file is damaged if that fails. Pages that are no pages
// make the database panic, and reading behind the end of a file that was cut faults.
func (s *Store) whole(f func() error) error {
	err := s.readable(f)
	if damaged := new(Damaged); err != nil && !errors.As(err, &damaged) {
		return &Damaged{Path: s.path, Problem: err.Error(), Cause: err}
	}
	return err
}

// readable runs f and returns its error, or that the file cannot be read.
func (s *Store) readable(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &Damaged{Path: s.path, Problem: fmt.Sprintf("it cannot be read: %v", r)}
		}
	}()
	return f()
}

// Close gives the store back.
func (s *Store) Close() error {
	<-s.guard
	s.broken = errors.New("ledger: the store is closed")
	s.guard <- struct{}{}
	removeHolder(s.dir)
	s.key.Wipe()
	return s.db.Close()
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// Identity returns who holds the ledger, to sign.
func (s *Store) Identity() *identity.Identity { return s.holder }
