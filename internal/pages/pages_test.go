package pages_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/internal/pages"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openDB(t testing.TB, path string, pageSize int) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true, NoGrowSync: true, FreelistType: bbolt.FreelistMapType})
	check(t, err)
	return db
}

// checkFile checks a file as it is.
func checkFile(t testing.TB, path string) error {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	info, err := f.Stat()
	check(t, err)
	return pages.Check(f, info.Size(), os.Getpagesize())
}

// change does something to a database, by chance: keys and values of all lengths, buckets in buckets.
func change(rng *rand.Rand, b *bbolt.Bucket, depth int) error {
	name := func() []byte {
		return bytes.Repeat([]byte(fmt.Sprintf("%03d", rng.IntN(200))), 1+rng.IntN(2)*rng.IntN(300))
	}
	for range 1 + rng.IntN(40)/depth {
		key := name()
		switch what := rng.IntN(10); {
		case what < 2 && depth < 4:
			if b.Get(key) != nil {
				continue
			}
			child, err := b.CreateBucketIfNotExists(key)
			if err != nil {
				return err
			}
			if err := change(rng, child, depth+1); err != nil {
				return err
			}
		case what < 3 && b.Bucket(key) != nil:
			if err := b.DeleteBucket(key); err != nil {
				return err
			}
		case b.Bucket(key) != nil:
		case what < 6:
			if err := b.Delete(key); err != nil {
				return err
			}
		default:
			size := rng.IntN(60)
			if what == 9 {
				size = rng.IntN(50_000)
			}
			if err := b.Put(key, make([]byte, size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// complaints is what bbolt itself finds when it goes through a file, whose pages may be lost, but used only once.
func complaints(db *bbolt.DB) (all []error) {
	err := db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			all = append(all, err)
		}
		return nil
	})
	return append(all, err)
}

// Whatever bbolt writes passes, with pages of any size, after every transaction, be it committed or not.
func TestWhatBboltWritesPasses(t *testing.T) {
	for _, pageSize := range []int{1 << 10, 4 << 10, 16 << 10, 64 << 10} {
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, uint64(pageSize)))
			path := filepath.Join(t.TempDir(), "db")
			db := openDB(t, path, pageSize)
			check(t, checkFile(t, path))
			for step := range 40 {
				tx, err := db.Begin(true)
				check(t, err)
				b, err := tx.CreateBucketIfNotExists([]byte{'a' + byte(rng.IntN(3))})
				check(t, err)
				check(t, change(rng, b, 1))
				if rng.IntN(5) == 0 {
					check(t, tx.Rollback())
				} else {
					check(t, tx.Commit())
				}
				if err := checkFile(t, path); err != nil {
					t.Fatalf("pages of %d, seed %d, step %d: %v", pageSize, seed, step, err)
				}
				if rng.IntN(10) == 0 {
					check(t, db.Close())
					db = openDB(t, path, 4<<10) // the file knows better
				}
			}
			check(t, errors.Join(complaints(db)...))
			check(t, db.Close())
		}
	}
}

// A list of free pages that is too long for its head passes, and is checked.
func TestALongListOfFreePages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := openDB(t, path, 1<<10)
	check(t, db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("a"))
		check(t, err)
		return b.Put([]byte("long"), make([]byte, 70_000<<10))
	}))
	for range 2 { // the second lists what the first one freed
		check(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("a")).Put([]byte("long"), []byte("short")) }))
	}
	check(t, checkFile(t, path))
	check(t, db.Close())
	f := readImage(t, path)
	list := f.page(f.meta().freelist())
	if n := list.count(); n != 0xFFFF {
		t.Fatalf("the list has %d", n)
	}
	for _, n := range []uint64{0, 1 << 15, list.number(16) - 1, list.number(16) + 1, 1 << 20, 1 << 63} {
		changed := f.clone()
		changed.page(f.meta().freelist()).setNumber(16, n)
		if err := changed.check(); !errors.As(err, new(*pages.Damage)) {
			t.Errorf("it says that it has %d: %v", n, err)
		}
	}
}

// A file that bbolt opens though a meta was torn passes, and what nothing points to may be anything.
func TestWhatIsTornAndNotUsedPasses(t *testing.T) {
	for _, pageSize := range []int{1 << 10, 4 << 10, 16 << 10} {
		f := readImage(t, filled(t, pageSize))
		for page := range uint64(2) {
			torn := f.clone()
			copy(torn.bytes[int64(page)*f.pageSize+headSize:], make([]byte, 64))
			if err := torn.check(); err != nil {
				t.Errorf("pages of %d: meta %d is torn: %v", pageSize, page, err)
			}
		}
		list := f.page(f.meta().freelist())
		if list.count() == 0 {
			t.Fatal("no page is free")
		}
		torn := f.clone()
		for i := range list.count() {
			clear(torn.bytes[int64(list.number(16+8*i))*f.pageSize:][:f.pageSize])
		}
		if err := torn.check(); err != nil {
			t.Errorf("pages of %d: a free page is torn: %v", pageSize, err)
		}
	}
}
