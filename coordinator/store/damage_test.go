package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// writeNote writes a note to the first study in the store, if there is one.
func writeNote(tx *Tx) error {
	all, err := tx.Studies()
	if err != nil || len(all) == 0 {
		return errors.Join(err, ErrDamaged)
	}
	st, err := tx.Study(all[0])
	if err != nil {
		return err
	}
	return st.PutNote("x", 1)
}

// small makes a store that has one study. It returns the store's directory and the bytes of the
// database file.
func small(t testing.TB) (dir string, good []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, Options{})
	check(t, err)
	create(t, s)
	check(t, s.Close())
	good, err = os.ReadFile(Path(dir))
	check(t, err)
	return dir, good
}

// If a page header was changed or the file was truncated, Open must report the damage. If the
// changed page is not in use, Open must succeed instead, and all contents must be there.
//
//abuse:case A15 a coordinator's file with a damaged page is refused
func TestDamagedPageIsRefused(t *testing.T) {
	dir, good := small(t)
	refused := 0
	try := func(what string, changed []byte) {
		check(t, os.WriteFile(Path(dir), changed, 0o600))
		s, err := Open(dir, Options{})
		if err != nil {
			if refused++; !errors.Is(err, ErrDamaged) || errors.Is(err, errUnreadable) {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		check(t, errors.Join(s.View(readAll), s.Update(writeNote), s.View(readAll)))
		check(t, s.Close())
	}
	for at := 0; at < len(good); at += pageSize {
		for field := range 16 {
			changed := bytes.Clone(good)
			changed[at+field] ^= 0x70
			try(fmt.Sprintf("byte %d of page %d", field, at/pageSize), changed)
		}
		if at > 0 { // an empty file counts as new and not as damaged
			try(fmt.Sprintf("cut at page %d", at/pageSize), good[:at])
		}
	}
	if refused == 0 {
		t.Error("nothing was damaged")
	}
}

// Once the open store is damaged, all transactions must return ErrDamaged, and Close must succeed.
// Panics with other causes must not be caught.
func TestDamageWhileOpenIsReported(t *testing.T) {
	dir, good := small(t)
	said := 0
	try := func(what string, damage func(path string) error) {
		check(t, os.Remove(Path(dir))) // start with a new file, because the damaged one may still be open
		check(t, os.WriteFile(Path(dir), good, 0o600))
		s, err := Open(dir, Options{})
		check(t, err)
		defer func() { check(t, s.Close()) }()
		check(t, damage(Path(dir)))
		for _, err := range []error{s.View(readAll), s.Update(writeNote), s.View(readAll)} {
			if errors.Is(err, errUnreadable) {
				if said++; !errors.Is(err, ErrDamaged) {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	for at := 0; at < len(good); at += pageSize {
		for _, field := range []int{0, 8, 10} { // offsets of the page number, kind and element count, which bbolt checks
			try("a page's head", func(path string) error {
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				check(t, err)
				_, err = f.WriteAt([]byte{good[at+field] ^ 0x70}, int64(at+field))
				return errors.Join(err, f.Close())
			})
		}
		try("cut", func(path string) error { return os.Truncate(path, int64(at)) })
	}
	if said == 0 {
		t.Error("nothing was damaged")
	}

	check(t, os.Remove(Path(dir)))
	check(t, os.WriteFile(Path(dir), good, 0o600))
	s, err := Open(dir, Options{})
	check(t, err)
	defer func() {
		if r := recover(); r != "of the program" {
			t.Errorf("a panic of the program became %v", r)
		}
		check(t, s.View(readAll))
		check(t, s.Update(writeNote))
		check(t, s.Close())
	}()
	_ = s.Update(func(*Tx) error { panic("of the program") })
}
