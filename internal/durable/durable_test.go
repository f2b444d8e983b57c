package durable_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/internal/durable"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A recorder is a file that records all operations. One of them can fail.
type recorder struct {
	*os.File
	t       *testing.T
	before  []byte
	written []int // how often each page was written
	synced  []int // for each sync, the first page that was written since the previous sync
	steps   int
	fails   int // number of the operation that fails, from 1; 0 if all succeed
}

var page = int64(os.Getpagesize())

var errDisk = errors.New("no space left on device")

func (r *recorder) step() error {
	if r.steps++; r.steps == r.fails {
		return errDisk
	}
	return nil
}

func (r *recorder) WriteAt(b []byte, off int64) (int, error) {
	if err := r.step(); err != nil {
		return 0, err
	}
	if !bytes.Equal(b, r.before[off:off+int64(len(b))]) {
		r.t.Errorf("%d bytes at %d were changed", len(b), off)
	}
	for at := off; at < off+int64(len(b)); at += page {
		r.written[at/page]++
	}
	return r.File.WriteAt(b, off)
}

func (r *recorder) Sync() error {
	first := 0
	for first < len(r.written) && r.written[first] == 0 {
		first++
	}
	r.synced = append(r.synced, first)
	return errors.Join(r.step(), r.File.Sync())
}

// settled calls Settle for a full database. It makes operation number fails of the file return an
// error.
func settled(t *testing.T, fails int) (*recorder, error) {
	path := filepath.Join(t.TempDir(), "db")
	r := &recorder{t: t, fails: fails}
	layer := durable.Layer{File: func(path string) (durable.File, error) {
		var err error
		r.File, err = os.OpenFile(path, os.O_RDWR, 0)
		return r, err
	}}
	db, err := layer.Open(path, 0o600, nil)
	check(t, err)
	defer db.Close()
	size := int64(0)
	check(t, db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("bucket"))
		check(t, err)
		for i := range 300 {
			check(t, b.Put([]byte{byte(i), byte(i >> 8)}, bytes.Repeat([]byte{byte(i)}, 5000)))
		}
		return nil
	}))
	check(t, db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	}))
	r.before, err = os.ReadFile(path)
	check(t, err)
	r.written = make([]int, size/page)
	err = layer.Settle(db)
	check(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("bucket")).Put([]byte("goes"), []byte("on")) }))
	return r, err
}

// The meta pages must be written last, because they point to all other pages.
func TestSettleRewritesFile(t *testing.T) {
	r, err := settled(t, 0)
	check(t, err)
	for i, n := range r.written {
		if n != 1 {
			t.Fatalf("page %d was written %d times", i, n)
		}
	}
	if len(r.synced) != 2 || r.synced[0] != 2 || r.synced[1] != 0 {
		t.Errorf("it was synced when pages from %v on were written", r.synced)
	}
}

func TestSettleReportsEveryFailure(t *testing.T) {
	r, err := settled(t, 0)
	check(t, err)
	for step := 1; step <= r.steps; step++ {
		if _, err := settled(t, step); !errors.Is(err, errDisk) {
			t.Errorf("step %d fails, and the error is %v", step, err)
		}
	}
}
