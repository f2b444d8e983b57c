package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/internal/testing/memory"
)

//abuse:case A15 a damaged coordinator's file is read or refused, without a crash
func FuzzFile(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "state")
	s, err := Open(dir, Options{})
	check(f, err)
	create(f, s)
	k := ReleaseKey{Ask: 1, Client: "north"}
	in(f, s, func(st Study) error {
		_, err := st.PutEvidence(k, []byte("e"))
		return errors.Join(err, st.PutOffer(k, []byte("e")), st.PutPiece(k, 0, []byte("piece")),
			st.Append(1, []byte("envelope"), short([]byte("body")), 1), st.PutState(short([]byte("state"))))
	})
	check(f, s.Close())
	path := filepath.Join(dir, fileName)
	good, err := os.ReadFile(path)
	check(f, err)
	f.Add(uint32(16), []byte{0xff})
	f.Add(uint32(pageSize*2+8), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(len(good)), []byte("more"))
	f.Add(uint32(65614), []byte("0")) // a changed page element, for which bbolt once allocated 4 GB
	for page := range uint32(len(good) / pageSize) {
		for _, field := range []uint32{0, 8, 10, 12, 15, 16, 23, 24, 27, 28, 31} { // offsets in the page header and the first elements
			f.Add(page*pageSize+field, []byte{0x7f})
		}
	}
	read := func() {
		s, err := Open(dir, Options{})
		if err != nil {
			return
		}
		defer s.Close() //nolint:errcheck // it may be damaged
		_ = s.View(readAll)
	}
	fixed := memory.Allocated(read)
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		if len(patch) > 64 {
			return
		}
		changed := append([]byte(nil), good...)
		copy(changed[min(int(at), len(changed)):], patch)
		check(t, os.Remove(path)) // start with a new file, because the damaged one may still be open
		check(t, os.WriteFile(path, changed, 0o600))
		memory.Beside(t, fixed, len(changed), read)
	})
}

func readAll(tx *Tx) error {
	all, err := tx.Studies()
	if err != nil {
		return err
	}
	for _, h := range all {
		st, err := tx.Study(h)
		if err != nil {
			return err
		}
		nothing := func(ReleaseKey, []byte) error { return nil }
		_, fixed := st.Fixed()
		_, body := bodyOf(st, ReleaseKey{Ask: 1, Client: "north"})
		st.State()
		if n := st.Items(); n < 1<<10 {
			for i := range n {
				st.Item(i + 1)
			}
		}
		if err := errors.Join(fixed, body, st.Offers(nothing), st.Evidence(nothing), st.Releases(1, nothing)); err != nil {
			return err
		}
	}
	return tx.Dump(func(string, []byte) {})
}
