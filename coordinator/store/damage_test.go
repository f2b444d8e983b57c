package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A page that is none is said, by whatever reads or writes, and the store can be closed; a file that was cut
// too. A panic of the program itself goes on.
func TestWhatCannotBeReadIsDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, Options{})
	check(t, err)
	create(t, s)
	check(t, s.Close())
	good, err := os.ReadFile(Path(dir))
	check(t, err)
	write := func(tx *Tx) error {
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
	said := 0
	try := func(what string, changed []byte) {
		check(t, os.Remove(Path(dir))) // one that could not be read may be open still
		check(t, os.WriteFile(Path(dir), changed, 0o600))
		s, err := Open(dir, Options{})
		if err != nil {
			said++
			return
		}
		defer func() { check(t, s.Close()) }()
		for _, err := range []error{s.View(readAll), s.Update(write), s.View(readAll)} {
			if errors.Is(err, errUnreadable) {
				if said++; !errors.Is(err, ErrDamaged) {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	for at := 0; at < len(good); at += pageSize {
		for field := range 12 { // its number, kind and count: not how many more pages are its own, which bbolt believes
			changed := bytes.Clone(good)
			changed[at+field] ^= 0x70
			try("a page's head", changed)
		}
		try("cut", good[:at])
	}
	if said == 0 {
		t.Error("nothing was damaged")
	}

	check(t, os.Remove(Path(dir)))
	check(t, os.WriteFile(Path(dir), good, 0o600))
	s, err = Open(dir, Options{})
	check(t, err)
	defer func() {
		if r := recover(); r != "of the program" {
			t.Errorf("a panic of the program is %v", r)
		}
		check(t, s.View(readAll))
		check(t, s.Update(write))
		check(t, s.Close())
	}()
	_ = s.Update(func(*Tx) error { panic("of the program") })
}
