package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/internal/durable"
)

const longValue = defaultLong

func filesOf(t *testing.T, s *Store) (all []string) {
	t.Helper()
	check(t, filepath.WalkDir(filepath.Join(s.dir, folderName), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
	return all
}

func stateOf(t *testing.T, st Study) []byte {
	t.Helper()
	b, err := st.State()
	check(t, err)
	return b
}

// When a new state is stored, the previous state and its file must disappear. A value must become
// visible only with the transaction that stores it. If no transaction does, its file must be
// removed at the next start.
func TestLongValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	create(t, s)
	random := rand.NewChaCha8([32]byte{1})
	value := func(size int) []byte {
		b := make([]byte, size)
		random.Read(b)
		return b
	}
	sizes := []int{0, 1, pieceValue, longValue, longValue + 1, 3*longValue + 5, longValue + pieceValue, 10, 2 * longValue}
	var want [][]byte
	var before []byte
	named := 0
	for i, size := range sizes {
		n, v := uint64(i+1), value(size)
		check(t, second(s.Prepare(hash, write(value(size+longValue))))) // no transaction ever stores this value
		body, err := s.Prepare(hash, write(v))
		check(t, err)
		state, err := s.Prepare(hash, write(append([]byte("state "), v...)))
		check(t, err)
		if body.Size != int64(size) || body.Hash != sha256.Sum256(v) || body.Long() != (size > longValue) {
			t.Errorf("%d bytes are prepared as %d, long: %v", size, body.Size, body.Long())
		}
		in(t, s, func(st Study) error {
			if e, b, err := st.Item(n); err != nil || e != nil || b != nil || !bytes.Equal(stateOf(t, st), before) {
				t.Errorf("%d bytes are visible before they are put, %v", len(b), err)
			}
			check(t, st.Append(n, []byte("e"), body, 0))
			return st.PutState(state)
		})
		want, before = append(want, v), append([]byte("state "), v...)
		if body.Long() {
			named++
		}
		in(t, s, func(st Study) error {
			if got := stateOf(t, st); !bytes.Equal(got, before) {
				t.Errorf("a state of %d bytes was read as %d bytes", size, len(got))
			}
			for n, w := range want {
				if _, b, err := st.Item(uint64(n + 1)); err != nil || b == nil || !bytes.Equal(b, w) {
					t.Errorf("entry %d of %d bytes has %d, %v", n+1, len(w), len(b), err)
				}
			}
			return nil
		})
	}
	in(t, s, func(st Study) error {
		piece := make([]byte, 2*pieceValue)
		check(t, st.ReadBody(6, piece, longValue-5))
		if !bytes.Equal(piece, want[5][longValue-5:][:len(piece)]) || st.ReadBody(6, piece, int64(sizes[5]-len(piece)+1)) == nil {
			t.Error("a part of a body was read wrongly, or beyond the end")
		}
		return nil
	})
	if got := len(filesOf(t, s)); got <= named+1 {
		t.Errorf("%d files: the unnamed files were removed before the restart", got)
	}
	check(t, s.Close())
	s = open(t, dir, Options{})
	if got := len(filesOf(t, s)); got != named+1 { // the state takes one more file
		t.Errorf("%d files after a restart, want the %d that are named", got, named+1)
	}
}

// When a transaction deletes a value, the value's file must be removed afterwards, unless another
// value has the same bytes.
func TestFilesAreRemoved(t *testing.T) {
	s := created(t, Options{Long: 10})
	put := func(ask uint64, text string) {
		v, err := s.Prepare(hash, write([]byte(text)))
		check(t, err)
		in(t, s, func(st Study) error { return st.PutBody(ReleaseKey{Ask: ask, Client: "north"}, v) })
	}
	put(1, "a long answer")
	put(2, "a long answer")
	put(3, "another long answer")
	for _, c := range []struct {
		ask  uint64
		left int
	}{{0, 2}, {1, 2}, {3, 1}} { // the first and second answers share a file
		in(t, s, func(st Study) error { return st.CloseAsk(c.ask) })
		if got := len(filesOf(t, s)); got != c.left {
			t.Errorf("plan %d is closed: %d files, want %d", c.ask, got, c.left)
		}
	}
	in(t, s, func(st Study) error {
		b, err := bodyOf(st, ReleaseKey{Ask: 2, Client: "north"})
		if string(b) != "a long answer" {
			t.Errorf("%q, %v", b, err)
		}
		return errors.Join(err, st.CloseAsk(2))
	})
	if got := filesOf(t, s); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}

//abuse:case A15 a long body that is missing, cut or changed is refused
func TestDamagedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		damage  func(path string) error
		atStart bool
	}{
		"missing": {os.Remove, true},
		"cut":     {func(path string) error { return os.Truncate(path, 12) }, true},
		"changed": {func(path string) error { return os.WriteFile(path, []byte("a long bodi"), 0o600) }, false},
		"open":    {func(path string) error { return os.Chmod(path, 0o644) }, true},
		"a link":  {func(path string) error { return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path)) }, true},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		s := open(t, dir, Options{Long: 10})
		create(t, s)
		v, err := s.Prepare(hash, write([]byte("a long body")))
		check(t, err)
		in(t, s, func(st Study) error { return errors.Join(st.Append(1, []byte("e"), v, 0), st.PutState(v)) })
		all := filesOf(t, s)
		if len(all) != 1 {
			t.Fatalf("%q", all)
		}
		check(t, s.Close())
		check(t, c.damage(all[0]))
		s, err = Open(dir, Options{})
		if (err != nil) != c.atStart || name != "open" && name != "a link" && err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: at the start %v", name, err)
		}
		if err != nil {
			continue
		}
		in(t, s, func(st Study) error {
			_, state := st.State()
			_, _, body := st.Item(1)
			if !errors.Is(state, ErrDamaged) || !errors.Is(body, ErrDamaged) {
				t.Errorf("%s: %v, %v", name, state, body)
			}
			return nil
		})
		check(t, s.Close())
	}
}

func TestValueThatCannotBeWritten(t *testing.T) {
	broken := &brokenFiles{}
	s := created(t, Options{Long: 10, Layer: durable.Layer{Files: broken}})
	for broken.fails = 1; ; broken.fails++ {
		broken.steps = 0
		_, err := s.Prepare(hash, write([]byte("a long body")))
		if err == nil {
			break
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("step %d: %v", broken.fails, err)
		}
		for _, path := range filesOf(t, s) {
			if strings.Contains(path, partOfNew) {
				t.Errorf("step %d leaves %s", broken.fails, path)
			}
		}
	}
	if broken.fails < 6 {
		t.Errorf("only %d steps", broken.fails)
	}
}

var errDisk = errors.New("no space left on device")

// brokenFiles is a file system in which one operation fails. Removing a file always succeeds.
type brokenFiles struct {
	durable.System
	steps, fails int
}

// step runs the next operation, or simulates that it fails.
func (b *brokenFiles) step(operation func() error) error {
	if b.steps++; b.steps == b.fails {
		return errDisk
	}
	return operation()
}

func (b *brokenFiles) Create(path string) (f durable.NewFile, err error) {
	err = b.step(func() (err error) {
		f, err = b.System.Create(path)
		return err
	})
	return &brokenFile{f, b}, err
}

func (b *brokenFiles) Rename(from, to string) error {
	return b.step(func() error { return b.System.Rename(from, to) })
}

func (b *brokenFiles) SyncDir(dir string) error {
	return b.step(func() error { return b.System.SyncDir(dir) })
}

type brokenFile struct {
	durable.NewFile
	b *brokenFiles
}

func (f *brokenFile) Write(b []byte) (n int, err error) {
	err = f.b.step(func() (err error) {
		n, err = f.NewFile.Write(b)
		return err
	})
	return n, err
}

func (f *brokenFile) Sync() error { return f.b.step(f.NewFile.Sync) }

// The first long value must raise the format version, so that earlier programs refuse the store.
func TestLongValuesRaiseFormat(t *testing.T) {
	s := created(t, Options{})
	for i, c := range []struct {
		size int
		want string
	}{{1 << 20, "1"}, {1<<20 + 1, "4"}} {
		v, err := s.Prepare(hash, write(make([]byte, c.size)))
		check(t, err)
		in(t, s, func(st Study) error { return st.Append(uint64(i+1), []byte("e"), v, 0) })
		check(t, s.View(func(tx *Tx) error {
			if got := string(tx.tx.Bucket([]byte("about")).Get(formatKey)); got != c.want {
				t.Errorf("with %d bytes the format is %s", c.size, got)
			}
			return nil
		}))
	}
}

// The program must be able to read and replace values and a state that an earlier version has
// stored.
func TestLongValuesOfEarlierFormats(t *testing.T) {
	for _, format := range []string{formatLong, formatSlots} {
		s := created(t, Options{})
		old := bytes.Repeat([]byte("0123456789"), longValue/3)
		in(t, s, func(st Study) error {
			check(t, st.atLeast(format))
			check(t, st.bucket.DeleteBucket([]byte(files))) // earlier formats have no such bucket
			check(t, st.part(envelopes).Put(number(1), []byte("e")))
			slot := stateNow
			if format == formatSlots {
				slot = []byte("odd")
				check(t, st.part(state).Put(stateSlot, slot))
				check(t, st.part(state).Put([]byte("even\x00\x00\x00\x00\x00\x00\x80\x00"), []byte("left over")))
			}
			for part, key := range map[string][]byte{bodies: number(1), state: slot} {
				check(t, st.part(part).Put(key, old[:pieceValue]))
				for at := pieceValue; at < len(old); at += pieceValue {
					check(t, st.part(part).Put(partKey(key, int64(at)), old[at:min(at+pieceValue, len(old))]))
				}
			}
			return nil
		})
		next, err := s.Prepare(hash, write(old[1:]))
		check(t, err)
		in(t, s, func(st Study) error {
			if _, b, err := st.Item(1); err != nil || !bytes.Equal(b, old) || !bytes.Equal(stateOf(t, st), old) {
				t.Errorf("an entry of %d bytes and a state of %d, want %d, %v", len(b), len(stateOf(t, st)), len(old), err)
			}
			piece := make([]byte, 10)
			if err := st.ReadBody(1, piece, 3*pieceValue-5); err != nil || !bytes.Equal(piece, old[3*pieceValue-5:][:10]) {
				t.Errorf("%q, %v", piece, err)
			}
			return st.PutState(next)
		})
		in(t, s, func(st Study) error {
			if !bytes.Equal(stateOf(t, st), old[1:]) || st.part(state).Stats().KeyN != 0 {
				t.Error("the next state did not replace the old one")
			}
			check(t, st.part(bodies).Delete(partKey(number(1), pieceValue))) // removes a part in the middle of a value
			if _, b, err := st.Item(1); !errors.Is(err, ErrDamaged) {
				t.Errorf("%d bytes of an entry with a missing part, %v", len(b), err)
			}
			return nil
		})
	}
}

func write(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for len(b) > 0 { // the size of a part is not a multiple of the size of these pieces
			n := min(len(b), 10_007)
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	}
}

func second(_ *Value, err error) error { return err }

func short(b []byte) *Value {
	return &Value{Size: int64(len(b)), Hash: sha256.Sum256(b), Bytes: append([]byte{}, b...)}
}
