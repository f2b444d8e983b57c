package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/client/ledger"
	"fedpvi/internal/testing/memory"
)

// exported charges two answers, exports the ledger, and returns the lines of the export.
func exported(t testing.TB, s *ledger.Store) [][]byte {
	t.Helper()
	for ask := uint64(1); ask <= 2; ask++ {
		mustPay(t, s, study, ask)
	}
	var out bytes.Buffer
	check(t, s.Export(&out, today))
	return bytes.SplitAfter(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
}

func join(lines ...[]byte) *bytes.Reader { return bytes.NewReader(bytes.Join(lines, nil)) }

func TestAnExportIsVerified(t *testing.T) {
	s := newStore(t)
	lines := exported(t, s)
	r, err := ledger.Verify(join(lines...))
	check(t, err)
	want, _ := s.Account("ward")
	if r.Fingerprint != s.Identity().Fingerprint() || r.Title.Entries != 3 || len(r.Accounts) != 1 || r.Accounts[0].Spent != want.Spent {
		t.Errorf("report %+v of account %+v", r, want)
	}
}

// The test changes every third byte.
//
//abuse:case A15 no bit, line or order of an export can be changed
func TestChangedExportIsRefused(t *testing.T) {
	s := newStore(t)
	lines := exported(t, s)
	whole := bytes.Join(lines, nil)
	for i := 0; i < len(whole); i += 3 {
		changed := bytes.Clone(whole)
		changed[i] ^= []byte{1, 0x20}[i%2] // 0x20 switches between upper and lower case
		if _, err := ledger.Verify(bytes.NewReader(changed)); err == nil {
			t.Fatalf("byte %d, %q, changed to %q: not detected", i, whole[i], changed[i])
		}
	}
	a, b, c, d := lines[0], lines[1], lines[2], append(bytes.Clone(lines[3]), '\n')
	for name, changed := range map[string]*bytes.Reader{
		"nothing":            join(),
		"the title alone":    join(a),
		"no title":           join(b, c, d),
		"cut":                join(a, b, c),
		"without the first":  join(a, c, d),
		"without the second": join(a, b, d),
		"swapped":            join(a, b, d, c),
		"double":             join(a, b, c, c, d),
		"a line more":        join(a, b, c, d, []byte("{}\n")),
		"a line too long":    join(a, bytes.Repeat([]byte("x"), 1<<18)),
	} {
		var fault *ledger.Fault
		if _, err := ledger.Verify(changed); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The data holder exports a ledger with false costs and signs it.
//
//abuse:case A15 costs that differ from the costs of their events are refused
func TestForgedLedgerIsRefused(t *testing.T) {
	s := newStore(t)
	lines := exported(t, s)
	var stamps []ledger.Stamp
	check(t, s.Stamps(func(stamp ledger.Stamp) error { stamps = append(stamps, stamp); return nil }))
	for name, c := range map[string]struct {
		change func(e *ledger.Entry, envelope *ledger.Hash)
		want   string
	}{
		"as it is":          {func(*ledger.Entry, *ledger.Hash) {}, ""},
		"a lower cost":      {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge.Cost /= 2 }, "entry 3: the cost"},
		"a negative cost":   {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge.Cost *= -1 }, "entry 3: the cost"},
		"a lower sum":       {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge.Spent /= 2 }, "entry 3: the spent budget"},
		"another event":     {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge.Event[16] ^= 1 }, "entry 3: the cost"},
		"no event":          {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge.Event = nil }, "entry 3: "},
		"a second answer":   {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge.Ask = 1 }, "entry 3: it pays for a second answer"},
		"another data set":  {func(e *ledger.Entry, _ *ledger.Hash) { e.Dataset = "wing" }, `entry 3: the data set "wing" has no budget`},
		"another number":    {func(e *ledger.Entry, _ *ledger.Hash) { e.Sequence++ }, "entry 3: it has the number 4"},
		"another before":    {func(e *ledger.Entry, _ *ledger.Hash) { e.Previous[0]++ }, "entry 3: it does not follow"},
		"another version":   {func(e *ledger.Entry, _ *ledger.Hash) { e.Version++ }, "entry 3: version 2"},
		"nothing was sent":  {func(_ *ledger.Entry, h *ledger.Hash) { *h = ledger.Hash{} }, ""},
		"a paid budget":     {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge, e.Budget = nil, stamps[0].Entry.Budget }, "entry 3: a budget must not"},
		"neither":           {func(e *ledger.Entry, _ *ledger.Hash) { e.Charge = nil }, "entry 3: it must be either"},
		"both":              {func(e *ledger.Entry, _ *ledger.Hash) { e.Budget = stamps[0].Entry.Budget }, "entry 3: it must be either"},
		"a name for a path": {func(e *ledger.Entry, _ *ledger.Hash) { e.Dataset = "../ward" }, "entry 3: name of the data set"},
	} {
		e, envelope := stamps[2].Entry, stamps[2].Envelope
		charge := *e.Charge
		charge.Event = bytes.Clone(charge.Event)
		e.Charge = &charge
		c.change(&e, &envelope)
		line, head, err := s.Forge(e, envelope)
		check(t, err)
		title, err := json.Marshal(ledger.Title{Version: 1, Holder: s.Identity().Public(), Entries: 3, Head: head, Time: today})
		check(t, err)
		first, err := json.Marshal(map[string]any{"fedpvi_ledger": json.RawMessage(title), "signature": hexOf(s.ForgeTitle(title))})
		check(t, err)
		_, err = ledger.Verify(join(first, []byte("\n"), lines[1], lines[2], line))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

//abuse:case A15 not opened, exit code 5
func TestDamageIsFound(t *testing.T) {
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	shorten := func(dir string) error { return os.Truncate(filepath.Join(dir, ledger.File), 8192) }
	for name, damage := range map[string]func(dir string) error{
		"no file":        remove(ledger.File),
		"no identity":    remove(ledger.IdentityFile),
		"no state key":   remove(ledger.StateKeyFile),
		"a file cut":     shorten,
		"another holder": func(dir string) error { return exchange(t, dir) },
	} {
		s := newStore(t)
		mustPay(t, s, study, 1)
		check(t, s.Close())
		check(t, damage(s.Dir()))
		again, err := ledger.Open(s.Dir(), ledger.Options{})
		var damaged *ledger.Damaged
		if !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			check(t, again.Close())
		}
	}
}

func exchange(t *testing.T, dir string) error {
	s := newStore(t)
	check(t, s.Close())
	return os.Rename(filepath.Join(s.Dir(), ledger.IdentityFile), filepath.Join(dir, ledger.IdentityFile))
}

//abuse:case A15 every byte of the chain is checked at start
func TestChangedFileIsNotOpened(t *testing.T) {
	s := newStore(t)
	mustPay(t, s, study, 1)
	check(t, s.Close())
	path := filepath.Join(s.Dir(), ledger.File)
	file, err := os.ReadFile(path)
	check(t, err)
	for _, word := range []string{`"cost":0`, `"spent":0`, `"ask":1`, `"dataset":"ward"`, `"epsilon":1`} {
		at := bytes.LastIndex(file, []byte(word))
		if at < 0 {
			t.Fatalf("%s is not in the file", word)
		}
		changed := bytes.ReplaceAll(file, []byte(word), append([]byte(word[:len(word)-1]), word[len(word)-1]+1))
		check(t, os.WriteFile(path, changed, 0o600))
		if again, err := ledger.Open(s.Dir(), ledger.Options{}); err == nil {
			check(t, again.Close())
			t.Errorf("%s changed: not detected", word)
		}
	}
	check(t, os.WriteFile(path, file, 0o600))
	check(t, open(t, s.Dir()).Close())
}

//abuse:case P06 files and directories open to others are refused
func TestOthersMayNotRead(t *testing.T) {
	for _, c := range []struct {
		name         string // empty for the directory
		wrong, right os.FileMode
	}{
		{"", 0o755, 0o700},
		{"", 0o710, 0o700},
		{"", 0o701, 0o700},
		{ledger.File, 0o640, 0o600},
		{ledger.IdentityFile, 0o644, 0o600},
	} {
		s := newStore(t)
		check(t, s.Close())
		path := filepath.Join(s.Dir(), c.name)
		check(t, os.Chmod(path, c.wrong))
		if _, err := ledger.Open(s.Dir(), ledger.Options{}); err == nil || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("%q of mode %04o: %v", c.name, c.wrong, err)
		}
		check(t, os.Chmod(path, c.right))
		check(t, open(t, s.Dir()).Close())
	}
}

func FuzzVerify(f *testing.F) {
	s := newStore(f)
	lines := exported(f, s)
	for n := range lines {
		f.Add(bytes.Join(lines[:n+1], nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var err error
		memory.Bound(t, len(b), func() { _, err = ledger.Verify(bytes.NewReader(b)) })
		if err != nil {
			return
		}
		if _, err := ledger.Verify(bytes.NewReader(append(b, "\n{}"...))); err == nil {
			t.Errorf("%q with one more line is accepted", b)
		}
	})
}
