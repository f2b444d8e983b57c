package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	sha "hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"fedpvi/internal/durable"
)

// The store keeps a long value in a file, and the size and hash of the file in the database. The
// file is written and synced before the transaction that adds its hash to the database. It is
// removed after the transaction that removes its hash. If the program crashes in between, the file
// is there but its hash is not, and Open removes the file.
//
// Formats 2 and 3 kept long values in the database, in several parts. The key of the first part was
// the key of the value. For each other part, the offset was appended to this key. This program can
// read and remove such parts, but never writes them.

const (
	folderName  = "bodies"
	defaultLong = 1 << 20
	// While a file is still being written, its name begins with partOfNew.
	partOfNew = "new-"
)

// A Value is a byte string that is ready to be stored. If it is long, it is in a file already.
type Value struct {
	Size  int64
	Hash  Hash
	Bytes []byte // the value; nil if it is in a file
}

// Long reports whether the value is in a file.
func (v *Value) Long() bool { return v.Bytes == nil }

// IsLong reports whether values of the given size go to files.
func (s *Store) IsLong(size int64) bool { return size > s.long }

// Prepare returns the bytes that the function write writes as a [Value]. If they are too many for
// the database, it writes them to a file.
func (s *Store) Prepare(study Hash, write func(io.Writer) error) (*Value, error) {
	w := s.NewWriter(study)
	if err := write(w); err != nil {
		w.Discard()
		return nil, err
	}
	return w.Finish()
}

// PrepareFile is like Prepare, but writes even a short value to a file.
func (s *Store) PrepareFile(study Hash, write func(io.Writer) error) (*Value, error) {
	w := s.NewWriter(study)
	err := w.begin()
	if err == nil {
		err = write(w)
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return w.Finish()
}

// A Writer makes a [Value] from pieces. The caller must call Finish or Discard in the end.
type Writer struct {
	store *Store
	dir   string
	sum   sha.Hash
	size  int64
	short []byte          // bytes of the value while it is still short
	file  durable.NewFile // file with the bytes of a long value
	path  string
}

// NewWriter returns a writer for one value of a study.
func (s *Store) NewWriter(study Hash) *Writer {
	return &Writer{store: s, dir: s.folder(study), sum: sha256.New()}
}

// Write implements [io.Writer].
func (w *Writer) Write(b []byte) (int, error) {
	if w.file == nil && w.store.IsLong(w.size+int64(len(b))) {
		if err := w.begin(); err != nil {
			return 0, err
		}
	}
	if w.file == nil {
		w.short = append(w.short, b...)
	} else if _, err := w.file.Write(b); err != nil {
		return 0, err
	}
	w.sum.Write(b)
	w.size += int64(len(b))
	return len(b), nil
}

// begin creates a file once the value becomes too long for the database.
func (w *Writer) begin() error {
	if err := w.store.makeFolder(w.dir); err != nil {
		return err
	}
	path := filepath.Join(w.dir, fmt.Sprintf("%s%d", partOfNew, w.store.files.Add(1)))
	f, err := w.store.layer.Create(path)
	if err != nil {
		return err
	}
	w.file, w.path = f, path
	_, err = f.Write(w.short)
	w.short = nil
	return err
}

// Finish returns the value. If it is long, its file survives a crash from now on.
func (w *Writer) Finish() (*Value, error) {
	v := &Value{Size: w.size, Hash: Hash(w.sum.Sum(nil))}
	if w.file == nil {
		v.Bytes = append([]byte{}, w.short...)
		return v, nil
	}
	f := w.file
	w.file = nil
	if err := w.store.layer.Finish(f, w.path, filepath.Join(w.dir, v.name())); err != nil {
		_ = w.store.layer.Remove(w.path) // ignore the error, because the file may have been renamed or removed
		return nil, err
	}
	return v, nil
}

// Discard deletes the bytes that were written. After Finish it does nothing.
func (w *Writer) Discard() {
	if w.file != nil {
		_ = w.file.Close()
		_ = w.store.layer.Remove(w.path) // if this fails, Open will remove the file
		w.file = nil
	}
}

func (v *Value) name() string { return hex.EncodeToString(v.Hash[:]) }

func (s *Store) folder(study Hash) string {
	return filepath.Join(s.dir, folderName, hex.EncodeToString(study[:]))
}

// makeFolder makes a directory that survives a crash. It syncs the parent directories even if the
// directory exists, because an earlier process may have failed before it could sync them.
func (s *Store) makeFolder(dir string) error {
	if _, durable := s.folders.Load(dir); durable {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := errors.Join(s.layer.SyncDir(filepath.Dir(dir)), s.layer.SyncDir(s.dir))
	if err == nil {
		s.folders.Store(dir, true)
	}
	return err
}

// Discard removes the file of v, unless the database has a value with the same bytes.
func (s *Store) Discard(study Hash, v *Value) error {
	if v == nil || !v.Long() {
		return nil
	}
	err := s.ViewStudy(study, func(kept Study) error {
		return kept.named(nil, func(_ []byte, other *Value) error {
			if other.Hash == v.Hash {
				return errNamed
			}
			return nil
		})
	})
	if errors.Is(err, errNamed) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.layer.Remove(filepath.Join(s.folder(study), v.name()))
}

var errNamed = errors.New("another value has the same bytes")

// sweep removes all files that are not listed in the database. If a listed file is missing or has
// the wrong size, it returns an error.
func (s *Store) sweep() error {
	wanted := map[string]bool{}
	err := s.View(func(tx *Tx) error {
		all, err := tx.Studies()
		if err != nil {
			return err
		}
		for _, h := range all {
			err := tx.in(h, func(kept Study) error {
				return kept.named(nil, func(_ []byte, v *Value) error {
					path := filepath.Join(kept.dir, v.name())
					wanted[path] = true
					return checkBody(path, v)
				})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(s.dir, folderName), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() || wanted[path] {
			return err
		}
		return s.layer.Remove(path)
	})
}

func checkBody(path string, v *Value) error {
	if err := checkFile(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != v.Size {
		return fmt.Errorf("%w: file %s is missing or does not have %d bytes", ErrDamaged, path, v.Size)
	}
	return err
}

// fileKey returns the key in the bucket "files" for a value that is in a file. The entry under this
// key is the file's size (8 bytes) and hash.
func fileKey(part string, key []byte) []byte { return append(append([]byte(part), 0), key...) }

// file returns the value under a key if it is in a file, and otherwise nil.
func (s Study) file(part string, key []byte) *Value {
	bucket := s.part(files)
	if bucket == nil { // earlier versions of the program had no such bucket
		return nil
	}
	return readFile(bucket.Get(fileKey(part, key)))
}

func readFile(b []byte) *Value {
	if len(b) != 8+len(Hash{}) {
		return nil
	}
	return &Value{Size: int64(readNumber(b[:8])), Hash: Hash(b[8:])}
}

// named calls f for each value that is in a file and whose key in the bucket "files" begins with
// prefix.
func (s Study) named(prefix []byte, f func(key []byte, v *Value) error) error {
	bucket := s.part(files)
	if bucket == nil {
		return nil
	}
	c := bucket.Cursor()
	for k, b := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, b = c.Next() {
		v := readFile(b)
		if v == nil {
			return fmt.Errorf("%w: the name of a file", ErrDamaged)
		}
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

// put stores a value under a key. If there is already one, put replaces it.
func (s Study) put(part string, key []byte, v *Value) error {
	if err := s.drop(part, key); err != nil {
		return err
	}
	if !v.Long() {
		return s.part(part).Put(key, v.Bytes)
	}
	return s.putFile(part, key, v, formatFiles)
}

// putFile stores the size and hash of a value's file. It also raises the database to the given
// format.
func (s Study) putFile(part string, key []byte, v *Value, format string) error {
	if err := s.atLeast(format); err != nil {
		return err
	}
	bucket, err := s.bucket.CreateBucketIfNotExists([]byte(files))
	if err != nil {
		return err
	}
	return bucket.Put(fileKey(part, key), append(number(uint64(v.Size)), v.Hash[:]...))
}

// drop removes a value from the database. If the value has a file, this is removed after the
// transaction.
func (s Study) drop(part string, key []byte) error {
	bucket := s.part(part)
	err := errors.Join(bucket.Delete(key), dropParts(bucket, key))
	return errors.Join(err, s.dropFiles(fileKey(part, key), true))
}

// dropFiles removes the files whose keys begin with prefix from the database. If exact is true, it
// removes only the file whose key is prefix. The files themselves are deleted after the
// transaction.
func (s Study) dropFiles(prefix []byte, exact bool) error {
	bucket := s.part(files)
	if bucket == nil {
		return nil
	}
	c := bucket.Cursor()
	for k, b := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && (!exact || len(k) == len(prefix)); k, b = c.Seek(prefix) {
		if v := readFile(b); v != nil {
			s.tx.dropped = append(s.tx.dropped, droppedFile{s.hash, v})
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// A droppedFile is a file that a transaction has removed from the database.
type droppedFile struct {
	study Hash
	value *Value
}

// dropParts removes the parts of a value that was stored under an earlier format.
func dropParts(bucket *bbolt.Bucket, key []byte) error {
	c := bucket.Cursor()
	for k, _ := c.Seek(partKey(key, 0)); len(k) == len(key)+8 && bytes.HasPrefix(k, key); k, _ = c.Seek(partKey(key, 0)) {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

func partKey(key []byte, offset int64) []byte {
	return append(bytes.Clone(key), number(uint64(offset))...)
}

// whole returns a copy of the value under a key, or nil if there is none.
func (s Study) whole(part string, key []byte) ([]byte, error) {
	size, ok := s.length(part, key)
	if !ok {
		return nil, nil
	}
	b := make([]byte, size)
	if err := s.read(part, key, b, 0); err != nil {
		return nil, err
	}
	if v := s.file(part, key); v != nil && sha256.Sum256(b) != v.Hash {
		return nil, fmt.Errorf("%w: file %s was changed after it was written", ErrDamaged, filepath.Join(s.dir, v.name()))
	}
	return b, nil
}

// length returns the length in bytes of the value under a key.
func (s Study) length(part string, key []byte) (size int64, ok bool) {
	if v := s.file(part, key); v != nil {
		return v.Size, true
	}
	bucket := s.part(part)
	if first := bucket.Get(key); first == nil {
		return 0, false
	}
	// the last part is just before the first key that follows all parts, or at the end of the
	// bucket
	c := bucket.Cursor()
	k, last := c.Last()
	if next, _ := c.Seek(partKey(key, math.MaxInt64)); next != nil {
		k, last = c.Prev()
	}
	if len(k) == len(key) {
		return int64(len(last)), true
	}
	return int64(readNumber(k[len(key):])) + int64(len(last)), true
}

// read fills b with the bytes of a value that start at the offset from.
func (s Study) read(part string, key, b []byte, from int64) error {
	if v := s.file(part, key); v != nil {
		return readBody(filepath.Join(s.dir, v.name()), b, from)
	}
	bucket := s.part(part)
	first := bucket.Get(key)
	for len(b) > 0 {
		value, at := first, int64(0)
		if from >= int64(len(first)) {
			at = from - from%max(1, int64(len(first)))
			value = bucket.Get(partKey(key, at))
		}
		if from-at >= int64(len(value)) {
			return fmt.Errorf("%w: a value of %s is too short", ErrDamaged, part)
		}
		n := copy(b, value[from-at:])
		b, from = b[n:], from+int64(n)
	}
	return nil
}

// ReadFile fills b with the bytes of a value that start at the offset from. The value is in a file,
// which need not be in the database yet.
func (s *Store) ReadFile(study Hash, v *Value, b []byte, from int64) error {
	return readBody(filepath.Join(s.folder(study), v.name()), b, from)
}

// readBody fills b with the bytes of a file that start at the offset from.
func readBody(path string, b []byte, from int64) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: file %s is missing", ErrDamaged, path)
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	if n, err := f.ReadAt(b, from); n < len(b) {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: file %s is too short", ErrDamaged, path)
		}
		return err
	}
	return nil
}
