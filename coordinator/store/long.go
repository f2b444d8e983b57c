package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	sha "hash"
	"io"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// A long value is on the disk before the transaction that names it: what a transaction writes is in memory
// until all of it is on the disk, so that a long value is written in several, part by part, each under the value's
// key and the part's offset. The first part has the key alone, and with that the value is there: the transaction
// that it belongs to puts it. Parts without a first one are nothing, and are written over by the next attempt.

const (
	// shortParts is of how many parts the longest value is that has one key all the same: 1 MiB.
	shortParts = 32
	// partsAtOnce is how many parts of a longer one are written in one transaction.
	partsAtOnce = 64
)

// A Value is bytes for a transaction to keep.
type Value struct {
	Size int64
	Hash Hash   // SHA-256
	Head []byte // all of a short one, of a long one the first part

	key  []byte // of a long one, whose other parts are on the disk; nil of a short one
	part string
}

// Short returns a value that is not written before its transaction.
func Short(b []byte) *Value { return &Value{Size: int64(len(b)), Hash: sha256.Sum256(b), Head: b} }

// IsLong reports whether a value of a size is written before the transaction that names it.
func (s *Store) IsLong(size int64) bool { return size > shortParts*int64(s.partSize) }

// Long reports whether most of the value is on the disk, rather than in Head.
func (v *Value) Long() bool { return v.key != nil }

// PrepareBody prepares what write writes to be the body of entry n, which is not there yet.
func (s *Store) PrepareBody(study Hash, n uint64, write func(io.Writer) error) (*Value, error) {
	return s.prepareValue(study, bodies, number(n), write)
}

// PrepareState prepares what write writes to be the state of the phases.
func (s *Store) PrepareState(study Hash, write func(io.Writer) error) (*Value, error) {
	var slot []byte
	err := s.View(func(tx *Tx) error {
		kept, err := tx.Study(study)
		if err == nil {
			slot = kept.otherSlot()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.prepareValue(study, state, slot, write)
}

func (s *Store) prepareValue(study Hash, part string, key []byte, write func(io.Writer) error) (*Value, error) {
	w := &longWriter{store: s, study: study, part: part, key: key, sum: sha256.New()}
	if err := write(w); err != nil {
		return nil, err
	}
	v := &Value{Size: w.size, Hash: Hash(w.sum.Sum(nil)), Head: slices.Clip(w.rest)}
	if w.head != nil {
		if err := w.flush(); err != nil {
			return nil, err
		}
		v.Head, v.key, v.part = w.head, key, part
	}
	return v, nil
}

// A longWriter writes all parts of a long value but the first.
type longWriter struct {
	store *Store
	study Hash
	part  string
	key   []byte
	sum   sha.Hash
	size  int64  // so far
	head  []byte // the first part; nil while the value is short
	rest  []byte // not written yet
	at    int64  // where that begins
}

func (w *longWriter) Write(b []byte) (n int, err error) {
	w.sum.Write(b)
	w.size += int64(len(b))
	n = len(b)
	if w.head == nil {
		w.rest = append(w.rest, b...)
		if b = nil; !w.store.IsLong(w.size) {
			return n, nil
		}
		size := w.store.partSize
		w.head, w.at = bytes.Clone(w.rest[:size]), int64(size)
		b, w.rest = w.rest[size:], make([]byte, 0, partsAtOnce*size)
	}
	for len(b) > 0 {
		more := min(len(b), cap(w.rest)-len(w.rest))
		w.rest, b = append(w.rest, b[:more]...), b[more:]
		if len(w.rest) == cap(w.rest) {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// flush writes what is not written.
func (w *longWriter) flush() error {
	err := w.store.Update(func(tx *Tx) error {
		kept, err := tx.Study(w.study)
		if err != nil {
			return err
		}
		if err := kept.atLeast(formatSlots); err != nil {
			return err
		}
		bucket := kept.part(w.part)
		if bucket.Get(w.key) != nil {
			return fmt.Errorf("%s has a value already where one is to be written", w.part)
		}
		return putParts(bucket, w.key, w.rest, w.at, len(w.head))
	})
	w.at += int64(len(w.rest))
	w.rest = w.rest[:0]
	return err
}

// putParts puts the bytes of a long value from an offset on, in parts of a size.
func putParts(bucket *bbolt.Bucket, key, b []byte, at int64, size int) error {
	for len(b) > 0 {
		n := min(len(b), size)
		if err := bucket.Put(partKey(key, at), b[:n:n]); err != nil {
			return err
		}
		at, b = at+int64(n), b[n:]
	}
	return nil
}

func partKey(key []byte, offset int64) []byte {
	return append(bytes.Clone(key), number(uint64(offset))...)
}

// name puts a value where its other parts are, or all of it under a key if it is short.
func (s Study) name(part string, key []byte, v *Value) error {
	if v.Long() && (v.part != part || !bytes.Equal(v.key, key)) {
		return errors.New("a value that was written for another place")
	}
	bucket := s.part(part)
	if err := bucket.Put(key, v.Head); err != nil {
		return err
	}
	if !v.Long() {
		return dropParts(bucket, key, 0)
	}
	return dropParts(bucket, key, v.Size)
}

// dropParts removes the parts of a value from an offset on.
func dropParts(bucket *bbolt.Bucket, key []byte, from int64) error {
	c := bucket.Cursor()
	for k, _ := c.Seek(partKey(key, from)); bytes.HasPrefix(k, key); k, _ = c.Seek(partKey(key, from)) {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// long returns a copy of a value; nil if there is none, or if a part of it is missing.
func (s Study) long(part string, key []byte) []byte {
	size, ok := s.length(part, key)
	if !ok {
		return nil
	}
	value := make([]byte, size)
	if !s.readLong(part, key, value, 0) {
		return nil
	}
	return value
}

// length returns how long a value is, and false if there is none.
func (s Study) length(part string, key []byte) (size int64, ok bool) {
	bucket := s.part(part)
	if first := bucket.Get(key); first == nil {
		return 0, false
	}
	k, last := bucket.Cursor().Last() // the value's, or
	if c := bucket.Cursor(); beyond(c.Seek(partKey(key, math.MaxInt64))) {
		k, last = c.Prev()
	}
	if len(k) == len(key) {
		return int64(len(last)), true
	}
	return int64(readNumber(k[len(key):])) + int64(len(last)), true
}

func beyond(key, _ []byte) bool { return key != nil }

// readLong fills b with what a value has from an offset on, and reports whether it has that much.
func (s Study) readLong(part string, key, b []byte, from int64) bool {
	bucket := s.part(part)
	first := bucket.Get(key)
	for len(b) > 0 {
		value, at := first, int64(0)
		if from >= int64(len(first)) {
			at = from - from%max(1, int64(len(first)))
			value = bucket.Get(partKey(key, at))
		}
		if from-at >= int64(len(value)) {
			return false
		}
		n := copy(b, value[from-at:])
		b, from = b[n:], from+int64(n)
	}
	return true
}
