package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

// opens counts how often a database is opened.
func counted(opens *int) Options {
	o := Options{Renew: 4}
	o.Layer.Opened = func(*bbolt.DB) { *opens++ }
	return o
}

// A file that grows is opened anew, also while others read, and nothing is missing.
func TestAFileIsOpenedAnew(t *testing.T) {
	opens := 0
	s := open(t, filepath.Join(t.TempDir(), "state"), counted(&opens))
	create(t, s)
	const entries = 60
	value := func(i int) []byte {
		sum := sha256.Sum256([]byte{byte(i)})
		return append(make([]byte, pageSize/2), sum[:]...)
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				check(t, s.View(func(tx *Tx) error {
					st, err := tx.Study(hash)
					if err != nil {
						return err
					}
					if n := st.Items(); n > 0 {
						if _, body := st.Item(n); string(body) != string(value(int(n))) {
							return fmt.Errorf("entry %d is another", n)
						}
					}
					return nil
				}))
			}
		})
	}
	for i := 1; i <= entries; i++ {
		in(t, s, func(st Study) error { return st.Append(uint64(i), []byte("e"), Short(value(i)), 0) })
	}
	close(done)
	readers.Wait()
	for i := range 30 { // now that nobody reads
		in(t, s, func(st Study) error { return st.Append(uint64(entries+i+1), []byte("e"), Short(value(entries+i+1)), 0) })
	}
	if opens < 4 {
		t.Errorf("the file was opened %d times", opens)
	}
	in(t, s, func(st Study) error {
		for i := 1; i <= entries; i++ {
			if _, body := st.Item(uint64(i)); string(body) != string(value(i)) {
				t.Errorf("entry %d is another", i)
			}
		}
		return nil
	})
	m, err := s.mark()
	check(t, err)
	if grown := m.pages - s.begun; grown >= 2*s.renew {
		t.Errorf("%d pages came into use since it was opened", grown)
	}
}

// Where a transaction comes between, or the file cannot be had, the store is of no use any more and says why.
func TestAFileThatAnotherTakes(t *testing.T) {
	for name, c := range map[string]struct {
		between func(path string) error
		want    error
	}{
		"writes to": {func(path string) error {
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				return err
			}
			return errors.Join(db.Update(func(*bbolt.Tx) error { return nil }), db.Close())
		}, errTaken},
		"holds": {func(path string) error {
			db, err := bbolt.Open(path, 0o600, nil)
			t.Cleanup(func() { check(t, db.Close()) })
			return err
		}, ErrHeld},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			s := open(t, dir, Options{Renew: 4, Wait: 1})
			create(t, s)
			again := s.open
			s.open = func() (*bbolt.DB, error) {
				check(t, c.between(Path(dir)))
				return again()
			}
			var err error
			for i := 1; err == nil && i < 100; i++ {
				err = s.Update(func(tx *Tx) error {
					st, err := tx.Study(hash)
					check(t, err)
					return st.Append(uint64(i), []byte("e"), Short(make([]byte, pageSize)), 0)
				})
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if err := s.View(func(*Tx) error { return nil }); !errors.Is(err, c.want) {
				t.Errorf("reading: %v, want %v", err, c.want)
			}
		})
	}
}
