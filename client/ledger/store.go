package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/seal"
	"fedpvi/internal/durable"
	"fedpvi/internal/private"
)

// These are the file names in a state directory.
const (
	IdentityFile = "identity.key"
	StateKeyFile = "state.key"
	File         = "ledger.db"
)

// lockWait is the maximum time that [Open] waits for the file.
const lockWait = time.Second

// format is the name and version of the file format.
const format = "fedpvi client ledger 2"

// unanchored is the format of a file without marks. The next commit raises it, so that earlier
// versions of the program cannot add entries without a mark.
const unanchored = "fedpvi client ledger 1"

// These are the buckets of the database. meta has the format, the data holder's public key and the
// newest mark. chain has the entries, by number. studies has each study's encrypted state. outbox
// has the charged messages of plans whose outcome is still unknown.
var (
	metaBucket    = []byte("meta")
	chainBucket   = []byte("chain")
	studiesBucket = []byte("studies")
	outboxBucket  = []byte("outbox")

	formatKey = []byte("format")
	holderKey = []byte("holder")
	markKey   = []byte("mark")
)

// A Store keeps a data holder's ledger and the states of its studies in one file. Only one process
// can open the file at a time. A Store is safe for concurrent use.
type Store struct {
	dir      string
	path     string
	lock     *keyfile.Lock
	holder   *identity.Identity
	key      *seal.Key // encrypts the states of studies on disk
	db       *bbolt.DB
	program  string
	layer    durable.Layer
	boundary func(point string) error

	mu     sync.Mutex
	chain  *chain
	anchor *anchor
	broken error // why the store accepts no more changes; nil while it does
}

// Options configure [Open].
type Options struct {
	Program string         // name and version of the program, written into entries
	Command string         // command line, shown to another process that finds the store in use
	Now     time.Time      // start time, shown to another process that finds the store in use
	Unlock  keyfile.Unlock // opens the key files if they are protected
	// Existing makes Open fail if the directory does not exist, instead of creating a store.
	Existing bool
	// Boundary, unless nil, is called before and after each commit. If it fails, the transaction
	// fails. Tests use it to simulate a crash.
	Boundary func(point string) error
	// Layer performs the file operations of the database. Only tests set it.
	Layer durable.Layer
}

// ErrNothing is the error for a store that does not exist.
var ErrNothing = errors.New("there is no state directory here: create one with client join, or choose another one with --state")

// Open opens the store in a directory and checks all entries. If there is no store, Open creates
// one. If o.Existing is set and there is no directory, the error wraps [ErrNothing]. If another
// process has the store open, it is a [*Held], and if the store is damaged, a [*Damaged]. A damaged
// store must not be used until a person has examined it.
func Open(dir string, o Options) (*Store, error) {
	path := filepath.Join(dir, File)
	if _, err := os.Lstat(dir); o.Existing && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNothing)
	}
	if err := prepare(dir); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, path: path, program: o.Program, layer: o.Layer, boundary: o.Boundary}
	if err := s.openFile(); err != nil {
		return nil, err
	}
	err := s.readable(func() error { return s.layer.Settle(s.db) })
	if err == nil {
		err = s.load(o.Unlock)
	}
	if err == nil {
		err = s.loadAnchor()
	}
	if err == nil {
		err = writeHolder(dir, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// openFile opens and locks the file. It waits at most lockWait for the lock.
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

// prepare makes the directory and the store's file if they do not exist. It makes the file before
// the keys, so if there is a key but no file, the file was lost.
func prepare(dir string) error {
	if err := private.MakeDirectory(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, File)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range []string{IdentityFile, StateKeyFile} {
			if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				return &Damaged{Path: path, Problem: "the file is missing, but " + name + " exists: without the file the spending is unknown"}
			}
		}
		return createFile(dir, path)
	case err != nil:
		return err
	}
	return private.CheckFile(path, info)
}

// load reads the keys, and reads and checks the entries. If the file is new, it makes the keys and
// writes the first contents.
func (s *Store) load(unlock keyfile.Unlock) error {
	var fresh bool
	err := s.read(func(tx *bbolt.Tx) error {
		fresh = tx.Bucket(metaBucket) == nil
		return nil
	})
	if err == nil {
		err = s.loadKeys(fresh, unlock)
	}
	if err != nil {
		return err
	}
	if fresh {
		return s.readable(func() error { return s.db.Update(s.initialise) })
	}
	return s.read(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if got := string(meta.Get(formatKey)); got != format && got != unanchored {
			return fmt.Errorf("its layout is %q, not %q: a newer program wrote it, so use that one", got, format)
		}
		public := s.holder.Public()
		if string(meta.Get(holderKey)) != string(public[:]) {
			return fmt.Errorf("it belongs to another identity than %s: restore the right key", IdentityFile)
		}
		return s.replay(tx)
	})
}

// loadAnchor compares the anchor with the database, and opens the anchor for writing.
func (s *Store) loadAnchor() error {
	var m mark
	err := s.read(func(tx *bbolt.Tx) (err error) {
		m, err = marked(tx, s.chain.holder)
		return err
	})
	if err != nil {
		return err
	}
	_, head := s.chain.head()
	if m.commits > 0 && m.head != head {
		return &Damaged{Path: s.path, Problem: "its newest entry is not the one that its mark names"}
	}
	m.head = head
	var previous Hash
	if n := len(s.chain.heads); n > 1 {
		previous = s.chain.heads[n-2]
	}
	s.anchor, err = openAnchor(s.layer, s.dir, s.chain.holder, m, head, previous)
	return err
}

// loadKeys loads the keys. If the file is new, it makes them.
func (s *Store) loadKeys(fresh bool, o keyfile.Unlock) (err error) {
	if s.lock, err = keyfile.Open(s.dir, o); err != nil {
		return err
	}
	s.holder, err = keyOf(s.lock, filepath.Join(s.dir, IdentityFile), fresh, identity.Create, identity.Load)
	if err != nil {
		return err
	}
	s.key, err = keyOf(s.lock, filepath.Join(s.dir, StateKeyFile), fresh, seal.Create, seal.Load)
	return err
}

// keyOf loads the key at path. If it is missing and the file is new, keyOf makes one. If the file
// is not new, it returns a [*Damaged].
func keyOf[K any](l *keyfile.Lock, path string, fresh bool, create, load func(*keyfile.Lock, string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if fresh {
			return create(l, path)
		}
		var none K
		return none, &Damaged{Path: path, Problem: "the file is missing, but its ledger exists"}
	}
	return load(l, path)
}

func (s *Store) initialise(tx *bbolt.Tx) error {
	s.chain = newChain(s.holder.Public())
	for _, name := range [][]byte{metaBucket, chainBucket, studiesBucket, outboxBucket} {
		_, err := tx.CreateBucket(name)
		if errors.Is(err, bolterrors.ErrBucketExists) {
			return &Damaged{Path: s.path, Problem: fmt.Sprintf("it has the part %q, but no part %q", name, metaBucket), Cause: err}
		}
		if err != nil {
			return err
		}
	}
	meta, public := tx.Bucket(metaBucket), s.holder.Public()
	return errors.Join(meta.Put(formatKey, []byte(unanchored)), meta.Put(holderKey, public[:]))
}

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

// whole runs f and wraps its error in a [*Damaged], unless the disk is full or permission is
// denied.
func (s *Store) whole(f func() error) error {
	err := s.readable(f)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if damaged := new(Damaged); err != nil && !errors.As(err, &damaged) {
		return &Damaged{Path: s.path, Problem: err.Error(), Cause: err}
	}
	return err
}

// readable runs f. If f panics or fails while it reads the database, readable returns a [*Damaged].
func (s *Store) readable(f func() error) error {
	err := durable.Guard(f)
	if damaged := new(Damaged); errors.Is(err, durable.ErrDamaged) && !errors.As(err, &damaged) {
		return &Damaged{Path: s.path, Problem: err.Error(), Cause: err}
	}
	return err
}

// Close closes the store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = errors.New("ledger: the store is closed")
	_ = os.Remove(filepath.Join(s.dir, heldFile)) // an error does no harm, because the file is only used for error messages
	s.key.Wipe()
	return errors.Join(s.anchor.file.Close(), s.db.Close())
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// Lock returns the lock on the directory, which is held while key files are read or written.
func (s *Store) Lock() *keyfile.Lock { return s.lock }

// Identity returns the data holder's identity, which signs messages.
func (s *Store) Identity() *identity.Identity { return s.holder }
