package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/internal/durable"
	"fedpvi/internal/testing/memory"
)

// FuzzOpen changes bytes of a file. Open must then report damage, or return a database that can be
// read and written without a panic and without using much memory.
//
//abuse:case A15 a damaged database file is refused before bbolt uses its page numbers and lengths
func FuzzOpen(f *testing.F) {
	const pageSize = 1 << 10
	path := filepath.Join(f.TempDir(), "db")
	options := &bbolt.Options{Timeout: 1, PageSize: pageSize, NoSync: true, FreelistType: bbolt.FreelistMapType}
	db, err := durable.Layer{}.Open(path, 0o600, options)
	check(f, err)
	for range 2 { // in the second pass, pages are freed
		check(f, db.Update(func(tx *bbolt.Tx) error {
			many, err := tx.CreateBucketIfNotExists([]byte("many"))
			if err != nil {
				return err
			}
			for i := range 60 {
				err = errors.Join(err, many.Put(fmt.Appendf(nil, "%03d", i), make([]byte, 40)))
			}
			few, inner := tx.CreateBucketIfNotExists([]byte("few"))
			return errors.Join(err, inner, few.Put([]byte("one"), []byte("1")), many.Put([]byte("long"), make([]byte, 3*pageSize)))
		}))
	}
	check(f, db.Close())
	good, err := os.ReadFile(path)
	check(f, err)
	for page := range len(good) / pageSize {
		for _, field := range []int{0, 8, 10, 12, 15, 16, 19, 20, 24, 28, 40} { // offsets in the header and the first elements
			for _, patch := range [][]byte{{0x7f}, {0xff, 0xff}, {byte(page)}, {0}} {
				f.Add(uint32(page*pageSize+field), patch)
			}
		}
	}
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		if len(patch) > 64 {
			return
		}
		changed := bytes.Clone(good)
		copy(changed[min(int(at), len(changed)):], patch)
		check(t, os.Remove(path)) // it may still be mapped, so it must not be overwritten
		check(t, os.WriteFile(path, changed, 0o600))
		var db *bbolt.DB
		var err error
		memory.Beside(t, 1<<20, len(changed), func() {
			if db != nil {
				check(t, db.Close())
			}
			db, err = durable.Layer{}.Open(path, 0o600, options)
		})
		if err != nil {
			if !errors.Is(err, durable.ErrDamaged) {
				t.Errorf("refused, but not as damaged: %v", err)
			}
			return
		}
		defer db.Close()
		err = durable.Guard(func() error {
			return db.Update(func(tx *bbolt.Tx) error {
				return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
					return errors.Join(b.ForEach(func(_, _ []byte) error { return nil }), b.Put([]byte("0"), make([]byte, 1)))
				})
			})
		})
		if err != nil && !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("an opened database failed: %v", err)
		}
	})
}
