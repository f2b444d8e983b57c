package ledger_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/client/ledger"
	"fedpvi/internal/durable"
)

// A past has copies of a store's database and anchor from after each charge.
type past struct {
	dir     string
	files   [][]byte
	anchors [][]byte
}

// newPast makes a store and charges n answers. After each charge, it copies the store's files.
func newPast(t testing.TB, n uint64) past {
	t.Helper()
	s := newStore(t)
	p := past{dir: s.Dir()}
	for ask := uint64(1); ask <= n; ask++ {
		mustPay(t, s, study, ask)
		p.files = append(p.files, p.read(t, ledger.File))
		p.anchors = append(p.anchors, p.read(t, ledger.AnchorFile))
	}
	check(t, s.Close())
	return p
}

func (p past) read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	check(t, err)
	return b
}

// unsynced is a layer that does not wait for the disk.
var unsynced = durable.Layer{
	Opened: func(db *bbolt.DB) { db.NoSync = true },
	File: func(path string) (durable.File, error) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		return hasty{f}, err
	},
	Files: hastyDisk{},
}

type hasty struct{ *os.File }

func (hasty) Sync() error { return nil }

type hastyDisk struct{ durable.System }

func (hastyDisk) Create(path string) (durable.NewFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return hasty{f}, err
}

func (hastyDisk) SyncDir(string) error { return nil }

// entries opens a store that consists of the given files and returns its number of entries. If
// anchor is nil, the store has no anchor. If the error is not a *ledger.Damaged, the test fails.
func (p past) entries(t testing.TB, file, anchor []byte) (uint64, error) {
	t.Helper()
	path := filepath.Join(p.dir, ledger.AnchorFile)
	check(t, os.WriteFile(filepath.Join(p.dir, ledger.File), file, 0o600))
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if anchor != nil {
		check(t, os.WriteFile(path, anchor, 0o600))
	}
	s, err := ledger.Open(p.dir, ledger.Options{Now: today, Existing: true, Layer: unsynced})
	if err != nil {
		if damaged := new(ledger.Damaged); !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		return 0, err
	}
	n, _ := s.Head()
	check(t, s.Close())
	return n, nil
}

// After a crash, the anchor may be one transaction older than the database. Open must not accept
// any other difference.
//
//abuse:case A15 one of the two files put back to any earlier transaction: not opened
func TestFilesFromThePast(t *testing.T) {
	const newest = 3
	p := newPast(t, newest+1)
	for then := range newest + 1 {
		n, err := p.entries(t, p.files[then], p.anchors[newest])
		if (err == nil) != (then == newest) {
			t.Errorf("the ledger of transaction %d of %d is opened with %d entries, %v", then+1, newest+1, n, err)
		}
		n, err = p.entries(t, p.files[newest], p.anchors[then])
		if (err == nil) != (then >= newest-1) || err == nil && n != newest+2 {
			t.Errorf("with the anchor of transaction %d of %d there are %d entries, %v", then+1, newest+1, n, err)
		}
	}
	if _, err := p.entries(t, p.files[newest], nil); err == nil {
		t.Error("a ledger whose anchor was lost is opened")
	}
	other := newPast(t, newest+1)
	if _, err := p.entries(t, p.files[newest], other.anchors[newest]); err == nil {
		t.Error("the anchor of another ledger is accepted")
	}
}

// If a bit of the newer meta page is flipped, bbolt uses the older page, and the newest charge is
// missing. In short mode, the test flips each bit of the two meta pages and the anchor.
//
//abuse:case A15 any flipped bit is refused, or no charge is missing
func TestFlippedBitLosesNoCharge(t *testing.T) {
	p := newPast(t, 3)
	file, anchor := p.files[2], p.anchors[2]
	want, err := p.entries(t, file, anchor)
	check(t, err)
	opened := 0
	flip := func(b []byte, name string, bit int) {
		b[bit/8] ^= 1 << (bit % 8)
		n, err := p.entries(t, file, anchor)
		b[bit/8] ^= 1 << (bit % 8)
		switch {
		case err != nil:
		case n == want:
			opened++
		default:
			t.Errorf("with bit %d of %s flipped there are %d of %d entries", bit, name, n, want)
		}
	}
	for bit := range 8 * len(anchor) {
		flip(anchor, ledger.AnchorFile, bit)
	}
	const meta = 80 // size of a page header and a meta page in bytes
	for page := range 2 {
		for bit := range 8 * meta {
			flip(file, ledger.File, page*8*os.Getpagesize()+bit)
		}
	}
	if os.Getenv("FEDPVI_LONG") != "" {
		for bit := range 8 * len(file) {
			flip(file, ledger.File, bit)
		}
		t.Logf("%d bits of %s: %d times opened with every charge", 8*len(file), ledger.File, opened)
	}
}

// An earlier version of the program made the store. The next transaction must make an anchor and
// raise the format, so that earlier versions can no longer add entries without a mark.
func TestStoreWithoutAnchor(t *testing.T) {
	s := newStore(t)
	mustPay(t, s, study, 1)
	check(t, s.Unanchor())
	check(t, s.Abandon())
	s = open(t, s.Dir())
	before, err := s.Format()
	check(t, err)
	mustPay(t, s, study, 2)
	after, err := s.Format()
	check(t, err)
	if before != "fedpvi client ledger 1" || after != "fedpvi client ledger 2" {
		t.Errorf("the format was %q and is %q", before, after)
	}
	check(t, s.Close())
	check(t, open(t, s.Dir()).Close())
	check(t, os.Remove(filepath.Join(s.Dir(), ledger.AnchorFile)))
	if _, err := ledger.Open(s.Dir(), ledger.Options{Now: today}); err == nil {
		t.Error("a ledger whose anchor was lost is opened")
	}
}

func TestLaterFormatIsRefused(t *testing.T) {
	s := newStore(t)
	check(t, s.SetFormat("fedpvi client ledger 3"))
	check(t, s.Abandon())
	p := past{dir: s.Dir()}
	file, anchor := p.read(t, ledger.File), p.read(t, ledger.AnchorFile)
	if _, err := ledger.Open(s.Dir(), ledger.Options{Now: today}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(p.read(t, ledger.File), file) || !bytes.Equal(p.read(t, ledger.AnchorFile), anchor) {
		t.Error("the files were changed")
	}
}

// A crash during the first commit may cut off the anchor at any byte of its second mark.
func TestFirstMarkIsCut(t *testing.T) {
	s := newStore(t)
	p := past{dir: s.Dir()}
	whole, file := p.read(t, ledger.AnchorFile), p.read(t, ledger.File)
	check(t, s.Close())
	for size := range len(whole) {
		if n, err := p.entries(t, file, whole[:size]); err == nil && n != 1 || err != nil && size >= len(whole)/2 {
			t.Errorf("with %d of %d bytes of the anchor there are %d entries, %v", size, len(whole), n, err)
		}
	}
}

// A fullDisk is a file system on which appending to an existing file fails.
type fullDisk struct {
	durable.System
	sync bool // whether syncing fails instead of writing
}

var errFull = errors.New("no space left on device")

func (d fullDisk) Append(path string) (durable.NewFile, error) {
	f, err := d.System.Append(path)
	return fullFile{f, d.sync}, err
}

type fullFile struct {
	durable.NewFile
	sync bool
}

func (f fullFile) Write(b []byte) (int, error) {
	if f.sync {
		return f.NewFile.Write(b)
	}
	n, err := f.NewFile.Write(b[:10])
	return n, errors.Join(err, errFull, io.ErrShortWrite)
}

func (f fullFile) Sync() error { return errFull }

//abuse:case A01 an anchor that cannot be written: nothing is sent, and the charge stays
func TestAnchorThatCannotBeWritten(t *testing.T) {
	for _, sync := range []bool{false, true} {
		s := newStore(t)
		check(t, s.Close())
		s, err := ledger.Open(s.Dir(), ledger.Options{Now: today, Layer: durable.Layer{Files: fullDisk{sync: sync}}})
		check(t, err)
		if item, err := pay(s, study, 1); !errors.Is(err, errFull) || item.Envelope != nil {
			t.Errorf("a charge without its mark returns %d bytes, %v", len(item.Envelope), err)
		}
		if _, err := pay(s, study, 2); !errors.Is(err, errFull) {
			t.Errorf("the store continues: %v", err)
		}
		check(t, s.Abandon())
		s = open(t, s.Dir())
		if n, _ := s.Head(); n != 2 {
			t.Errorf("there are %d entries, want 2", n)
		}
		mustPay(t, s, study, 2)
		check(t, s.Close())
		check(t, open(t, s.Dir()).Close())
	}
}

func FuzzAnchor(f *testing.F) {
	p := newPast(f, 2)
	f.Add(p.anchors[1])
	f.Add(p.anchors[0])
	f.Add(p.anchors[1][:60])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := p.entries(t, p.files[1], slices.Clone(b))
		if err == nil && n != 3 {
			t.Errorf("%d entries of 3", n)
		}
	})
}

// Without the name of its first bucket, a file looks new.
func TestFlippedNamesOfParts(t *testing.T) {
	p := newPast(t, 2)
	file, anchor := p.files[1], p.anchors[1]
	names := 0
	for _, name := range []string{"meta", "chain", "studies", "outbox"} {
		for at := 0; ; at++ {
			next := bytes.Index(file[at:], []byte(name))
			if next < 0 {
				break
			}
			at += next
			names++
			for bit := range 8 {
				file[at] ^= 1 << bit
				if n, err := p.entries(t, file, anchor); err == nil && n != 3 {
					t.Errorf("with bit %d of %s at %d flipped there are %d entries", bit, name, at, n)
				}
				file[at] ^= 1 << bit
			}
		}
	}
	if names < 4 {
		t.Errorf("%d names were found", names)
	}
}
