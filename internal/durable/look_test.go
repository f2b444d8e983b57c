package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/internal/durable"
	"fedpvi/internal/pages"
)

// A damaged file is not opened, nor held; one that somebody else has is not looked at.
func TestAFileIsLookedThrough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	open := func() (*bbolt.DB, error) {
		return durable.Layer{}.Open(path, 0o600, &bbolt.Options{Timeout: time.Nanosecond, PageSize: 16 << 10})
	}
	db, err := open()
	check(t, err)
	if _, err := open(); !errors.Is(err, bolterrors.ErrTimeout) {
		t.Errorf("opened twice: %v", err)
	}
	good, err := os.ReadFile(path)
	check(t, err)
	write := func(at int64, b byte) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		check(t, err)
		_, err = f.WriteAt([]byte{b}, at)
		check(t, errors.Join(err, f.Close()))
	}
	const count = 3*16<<10 + 10 // of the first leaf
	write(count, 0xff)
	if _, err := open(); !errors.Is(err, bolterrors.ErrTimeout) {
		t.Errorf("another has it, and it was looked at: %v", err)
	}
	check(t, db.Close())
	var found *pages.Damage
	if _, err := open(); !errors.As(err, &found) || found.Page != 3 {
		t.Errorf("damaged: %v", err)
	}
	write(count, good[count])
	db, err = open()
	check(t, err)
	check(t, db.Close())
}
