package pages_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/internal/pages"
	"fedpvi/internal/testing/memory"
)

// A changed file is damaged, or one in which bbolt finds nothing wrong when it goes through all of it: then it can
// be written to as well.
//
//abuse:case A15 what a damaged file says of its pages is found before bbolt believes it
func FuzzCheck(f *testing.F) {
	good := readImage(f, filled(f, 1<<10))
	m := good.meta()
	list, top := m.freelist(), m.root()
	for _, page := range []uint64{0, 1, list, top, good.page(top).number(len("few")) % m.pages(), 5} {
		for _, at := range []int64{0, 8, 10, 12, 16, 20, 24, 28, 40, 56} {
			f.Add(uint32(int64(page)*good.pageSize+at), []byte{1})
			f.Add(uint32(int64(page)*good.pageSize+at), []byte{0xff, 0xff})
		}
	}
	path := filepath.Join(f.TempDir(), "db")
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		if len(patch) > 64 {
			return
		}
		changed := good.clone()
		copy(changed.bytes[min(int(at), len(changed.bytes)):], patch)
		if int(at)%int(good.pageSize) >= headSize && int(at) < 2*int(good.pageSize) {
			metaPart{changed.page(uint64(at) / uint64(good.pageSize)).from(headSize)}.sign()
		}
		var err error
		memory.Within(t, memory.Room, func() { err = changed.check() })
		if err != nil {
			if !errors.As(err, new(*pages.Damage)) {
				t.Errorf("refused, and not as damaged: %v", err)
			}
			return
		}
		for page := range uint64(2) { // bbolt reads these heads when it checks, and otherwise never
			copy(changed.page(page).bytes[:headSize], good.page(page).bytes)
		}
		check(t, os.WriteFile(path, changed.bytes, 0o600))
		db := openDB(t, path, 0)
		defer db.Close()
		for _, err := range complaints(db) {
			if err != nil {
				t.Errorf("bbolt finds: %v", err)
			}
		}
		check(t, db.Update(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return b.Put([]byte("0"), make([]byte, 1)) })
		}))
	})
}
