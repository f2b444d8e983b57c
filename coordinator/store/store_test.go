package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/internal/durable"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	check(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

var hash = Hash{1, 2, 3}

func create(t testing.TB, s *Store) {
	t.Helper()
	check(t, s.Update(func(tx *Tx) error {
		_, err := tx.Create(hash, Fixed{Name: "hub"})
		return err
	}))
}

func created(t *testing.T, o Options) *Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "state"), o)
	create(t, s)
	return s
}

func in(t testing.TB, s *Store, f func(st Study) error) {
	t.Helper()
	check(t, s.UpdateStudy(hash, f))
}

//abuse:case P06 mode 0700 and 0600, one process at a time
func TestStateIsForItsOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	open(t, dir, Options{})
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, fileName): 0o600} {
		info, err := os.Stat(path)
		check(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o", path, got)
		}
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	loose := t.TempDir()
	check(t, os.Chmod(loose, 0o755))
	if _, err := Open(loose, Options{}); err == nil {
		t.Error("a directory that is open to others is used")
	}
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(dir, link))
	if _, err := Open(link, Options{}); err == nil {
		t.Error("a link is followed")
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	check(t, s.Update(func(tx *Tx) error { return tx.tx.Bucket([]byte("about")).Put([]byte("format"), []byte("8")) }))
	check(t, s.Close())
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("%v", err)
	}
}

func TestFailedTransactionChangesNothing(t *testing.T) {
	var fail error
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{Commit: func(commit func() error) error {
		if fail != nil {
			return fail
		}
		return commit()
	}})
	create(t, s)
	put := func(err error) error {
		return s.UpdateStudy(hash, func(st Study) error {
			check(t, st.Put(Approval, "north", []byte("yes")))
			return err
		})
	}
	refused := errors.New("refused")
	if err := put(refused); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	fail = errors.New("disk full")
	if err := put(nil); !errors.Is(err, fail) {
		t.Errorf("%v", err)
	}
	fail = nil
	in(t, s, func(st Study) error {
		all, err := st.All(Approval)
		if len(all) > 0 {
			t.Errorf("the store has %v after failed transactions", all)
		}
		return err
	})
	check(t, put(nil))
}

// After a failed commit, the file may be changed in memory but not on disk. A power failure could
// then undo the change. So the store must write the file again before it reads from it.
func TestFileIsRewrittenAfterFailedCommit(t *testing.T) {
	refused, full := errors.New("the sync failed"), errors.New("no space left on device")
	var fails bool
	var anew int
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{
		Commit: func(commit func() error) error {
			check(t, commit())
			if fails {
				return refused
			}
			return nil
		},
		Layer: durable.Layer{File: func(path string) (durable.File, error) {
			if fails {
				return nil, full
			}
			anew++
			return os.OpenFile(path, os.O_RDWR, 0)
		}},
	})
	create(t, s)
	if anew != 1 {
		t.Fatalf("the file was written again %d times at the start, want 1", anew)
	}
	fails = true
	put := func(tx *Tx) error {
		st, err := tx.Study(hash)
		check(t, err)
		return st.Put(Approval, "north", []byte("yes"))
	}
	if err := s.Update(put); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	nothing := func(*Tx) error { return errors.New("this was run") }
	for _, transaction := range []func(func(*Tx) error) error{s.View, s.Update} {
		if err := transaction(nothing); !errors.Is(err, full) {
			t.Errorf("a transaction before the file was written again: %v", err)
		}
	}
	fails = false
	in(t, s, func(st Study) error {
		all, err := st.All(Approval)
		if string(all["north"]) != "yes" {
			t.Errorf("the store has %v", all)
		}
		return err
	})
	if anew != 2 {
		t.Errorf("the file was written again %d times, want 2", anew)
	}
}

// bodyOf returns as much of an answer's body as has arrived.
func bodyOf(st Study, k ReleaseKey) ([]byte, error) {
	b := make([]byte, st.Have(k))
	return b, st.ReadAnswer(k, b, 0)
}

// Pieces must add up to a body. When a plan is closed, the pieces must be deleted, but the
// envelopes of accepted answers must remain.
func TestReleases(t *testing.T) {
	s := created(t, Options{})
	a, b, next := ReleaseKey{Ask: 1, Client: "a"}, ReleaseKey{Ask: 1, Client: "a-b"}, ReleaseKey{Ask: 2, Client: "a"}
	in(t, s, func(st Study) error {
		for _, k := range []ReleaseKey{a, b, next} {
			check(t, st.PutOffer(k, []byte("envelope of "+k.Client)))
			check(t, st.PutPiece(k, 0, []byte("first, ")))
		}
		check(t, st.PutPiece(a, 7, []byte("second")))
		return st.Take(a, []byte("envelope of a"))
	})
	in(t, s, func(st Study) error {
		body, err := bodyOf(st, a)
		if string(body) != "first, second" || st.Have(a) != 13 || st.Have(b) != 7 {
			t.Errorf("%q, %d and %d bytes", body, st.Have(a), st.Have(b))
		}
		check(t, err)
		check(t, st.DropBody(b))
		if st.Have(b) != 0 || st.Have(a) != 13 {
			t.Error("the wrong body was dropped")
		}
		return st.CloseAsk(1)
	})
	in(t, s, func(st Study) error {
		if st.Have(a) != 0 || st.Have(next) != 7 {
			t.Error("the wrong bodies were dropped")
		}
		var offered, taken []ReleaseKey
		check(t, st.Offers(func(k ReleaseKey, _ []byte) error { offered = append(offered, k); return nil }))
		check(t, st.Releases(1, func(k ReleaseKey, e []byte) error {
			if !bytes.Equal(e, []byte("envelope of a")) {
				t.Errorf("%q", e)
			}
			taken = append(taken, k)
			return nil
		}))
		if len(offered) != 1 || offered[0] != next || len(taken) != 1 || taken[0] != a {
			t.Errorf("offered %v, taken %v", offered, taken)
		}
		check(t, st.PutPiece(next, 9, []byte("a hole before it")))
		if _, err := bodyOf(st, next); !errors.Is(err, errPieces) {
			t.Errorf("a body with a hole: %v", err)
		}
		for i, envelope := range []string{"one", "two"} {
			first, err := st.PutEvidence(a, []byte(envelope))
			check(t, err)
			if first != (i == 0) {
				t.Errorf("%s is the first: %v", envelope, first)
			}
		}
		return st.Evidence(func(_ ReleaseKey, e []byte) error {
			if string(e) != "one" {
				t.Errorf("%q is kept", e)
			}
			return nil
		})
	})
}

func TestTranscripts(t *testing.T) {
	s := created(t, Options{})
	in(t, s, func(st Study) error {
		if st.Items() != 0 || st.PlanOf(1) != 0 || len(stateOf(t, st)) > 0 {
			t.Error("a new study has entries")
		}
		check(t, st.Append(1, []byte("e1"), short([]byte("b1")), 0))
		check(t, st.Append(2, []byte("e2"), short(nil), 7))
		return st.PutState(short([]byte("state")))
	})
	in(t, s, func(st Study) error {
		e, b, err := st.Item(1)
		check(t, err)
		if string(e) != "e1" || string(b) != "b1" || st.Items() != 2 || st.PlanOf(7) != 2 || string(stateOf(t, st)) != "state" {
			t.Errorf("%q %q %d %d %q", e, b, st.Items(), st.PlanOf(7), stateOf(t, st))
		}
		if e, b, err := st.Item(3); err != nil || e != nil || b != nil {
			t.Errorf("entry 3 is %q %q", e, b)
		}
		return nil
	})
}

// Another user may control a link, or a directory that is open to others, so Open must refuse both.
// It must not create anything at the target of a link.
//
//abuse:case P06 linked or open to others: refused, and nothing is written at the target of a link
func TestLinksAndOpenFilesAreRefused(t *testing.T) {
	target := filepath.Join(t.TempDir(), "target")
	for name, spoil := range map[string]func(dir string) error{
		"a linked directory": func(dir string) error {
			return errors.Join(os.Rename(dir, target), os.Symlink(target, dir))
		},
		"an open directory": func(dir string) error { return os.Chmod(dir, 0o750) },
		"a linked file": func(dir string) error {
			path := filepath.Join(dir, fileName)
			return errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path))
		},
		"a link to nothing": func(dir string) error {
			path := filepath.Join(dir, fileName)
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(dir, "made"), path))
		},
		"an open file": func(dir string) error { return os.Chmod(filepath.Join(dir, fileName), 0o640) },
	} {
		dir := filepath.Join(t.TempDir(), "state")
		s, err := Open(dir, Options{})
		check(t, err)
		check(t, s.Close())
		check(t, spoil(dir))
		if s, err := Open(dir, Options{}); err == nil {
			t.Errorf("%s is opened", name)
			check(t, s.Close())
		}
		if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
			t.Errorf("%s: a file was made at its target", name)
		}
	}
}

// The store must not confuse messages for the same plan and client that belong to different steps.
// When the plan is closed, only the envelopes of answers must remain. Earlier versions of the
// program must refuse this state.
func TestMessagesOfSteps(t *testing.T) {
	s := created(t, Options{})
	all := func(st Study, ask uint64, step Step) (text string) {
		check(t, st.Messages(ask, step, func(k ReleaseKey, envelope []byte) error {
			text += fmt.Sprintf("%d %s %d %s, ", k.Ask, k.Client, k.Step, envelope)
			return nil
		}))
		return text
	}
	in(t, s, func(st Study) error {
		check(t, st.Shares())
		for _, k := range []ReleaseKey{{0, "a", Answering}, {7, "a", Answering}, {7, "a", Confirming}, {7, "b", Confirming}, {7, "a", Sharing}, {8, "a", Sharing}} {
			check(t, st.PutPiece(k, 0, []byte{byte(k.Ask), byte(k.Step)}))
			check(t, st.Take(k, []byte(fmt.Sprint("e", k.Step))))
		}
		return nil
	})
	in(t, s, func(st Study) error {
		if got := all(st, 7, Confirming); got != "7 a 1 e1, 7 b 1 e1, " {
			t.Errorf("confirmations: %s", got)
		}
		b := make([]byte, 2)
		if err := st.ReadAnswer(ReleaseKey{7, "a", Sharing}, b, 0); err != nil || b[1] != byte(Sharing) {
			t.Errorf("the share is %v, %v", b, err)
		}
		check(t, st.CloseAsk(7))
		if got := all(st, 7, Confirming) + all(st, 7, Sharing) + all(st, 7, Answering) + all(st, 8, Sharing) + all(st, 0, Answering); got != "7 a 0 e0, 8 a 2 e2, 0 a 0 e0, " {
			t.Errorf("after plan 7 was closed: %s", got)
		}
		if err := st.ReadAnswer(ReleaseKey{7, "a", Answering}, b, 0); err == nil {
			t.Error("the body of an answer to a closed plan is there")
		}
		about := st.bucket.Tx().Bucket([]byte("about"))
		if got := string(about.Get(formatKey)); got != "5" {
			t.Errorf("the format is %s", got)
		}
		check(t, st.Changes())
		if got := string(about.Get(formatKey)); got != "6" {
			t.Errorf("with keys that changed the format is %s", got)
		}
		return nil
	})
}
