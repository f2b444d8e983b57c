package durable_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/internal/durable"
	"fedpvi/internal/testing/memory"
)

// Open must not check a file that another program has locked.
func TestDamagedFileIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	open := func() (*bbolt.DB, error) {
		return durable.Layer{}.Open(path, 0o600, &bbolt.Options{Timeout: time.Nanosecond, PageSize: 16 << 10})
	}
	db, err := open()
	check(t, err)
	if _, err := open(); !errors.Is(err, bolterrors.ErrTimeout) {
		t.Errorf("opening the file a second time: %v", err)
	}
	good, err := os.ReadFile(path)
	check(t, err)
	write := func(at int64, b byte) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		check(t, err)
		_, err = f.WriteAt([]byte{b}, at)
		check(t, errors.Join(err, f.Close()))
	}
	const count = 3*16<<10 + 10 // offset of the element count in the first leaf page
	write(count, 0xff)
	if _, err := open(); !errors.Is(err, bolterrors.ErrTimeout) {
		t.Errorf("a file that is locked was checked: %v", err)
	}
	check(t, db.Close())
	if _, err := open(); !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), "page 3") {
		t.Errorf("damaged: %v", err)
	}
	write(count, good[count])
	db, err = open()
	check(t, err)
	check(t, db.Close())
}

// The free list on a damaged page can claim to have any number of pages. bbolt would allocate
// memory for all of them, and if there are too many, the program ends.
//
//abuse:case A15 a list of free pages that states more pages than the file has is refused, in little memory
func TestLongFreeListIsRefused(t *testing.T) {
	const pageSize = 4 << 10
	path := filepath.Join(t.TempDir(), "db")
	options := &bbolt.Options{Timeout: time.Nanosecond, PageSize: pageSize}
	db, err := durable.Layer{}.Open(path, 0o600, options)
	check(t, err)
	list := 0
	check(t, db.View(func(tx *bbolt.Tx) error {
		for id := range int(tx.Size() / pageSize) {
			p, err := tx.Page(id)
			check(t, err)
			if p.Type == "freelist" {
				list = id
			}
		}
		return nil
	}))
	check(t, db.Close())
	good, err := os.ReadFile(path)
	check(t, err)
	for _, count := range []uint64{1 << 10, 1 << 16, 1 << 28, 1 << 40, 1 << 62} {
		changed := bytes.Clone(good)
		at := list*pageSize + 10
		binary.NativeEndian.PutUint16(changed[at:], uint16(min(count, 0xffff)))
		if count >= 0xffff {
			binary.NativeEndian.PutUint64(changed[at+6:], count)
		}
		check(t, os.Remove(path))
		check(t, os.WriteFile(path, changed, 0o600))
		memory.Bound(t, len(changed), func() {
			if _, err := (durable.Layer{}).Open(path, 0o600, options); !errors.Is(err, durable.ErrDamaged) {
				t.Errorf("a list of %d pages: %v", count, err)
			}
		})
	}
}
