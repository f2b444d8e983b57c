package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"fedpvi/internal/durable"
)

// While another program has locked the file, Open must not check it.
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
