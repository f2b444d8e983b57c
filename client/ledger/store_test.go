package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/transport"
)

var (
	today    = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	study    = ledger.Hash(sha256.Sum256([]byte("a study")))
	other    = ledger.Hash(sha256.Sum256([]byte("another study")))
	gaussian = accountant.Gaussian{Sensitivity: 1, Sigma: 8, Adjacency: accountant.AddRemove}
	sampled  = accountant.Repeated{Event: accountant.Poisson{Rate: 0.01, Sigma: 1.5, Adjacency: accountant.AddRemove}, Times: 100}
	promise  = accountant.Target{Epsilon: 1, Delta: 1e-5}
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *ledger.Store {
	t.Helper()
	s, err := ledger.Open(dir, ledger.Options{Program: "test 1", Command: "a test", Now: today})
	check(t, err)
	return s
}

// newStore returns a store in which the data set "ward" has a budget for Gaussian releases with ε =
// 1.
func newStore(t testing.TB) *ledger.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "state"))
	t.Cleanup(func() { _ = s.Close() })
	b, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, promise, gaussian)
	check(t, err)
	check(t, s.AddBudget("ward", b, today))
	return s
}

func release(ask uint64) ledger.Release {
	return ledger.Release{Dataset: "ward", Ask: ask, View: "anyone", Event: gaussian}
}

// says returns a message whose envelope names the ledger entry with this number and hash.
func says(sequence uint64, head ledger.Hash) (transport.Item, error) {
	return transport.Item{Envelope: fmt.Appendf(nil, "envelope %d %s", sequence, head), Body: []byte("body")}, nil
}

// mustPay is like pay, but fails the test if there is an error.
func mustPay(t testing.TB, s *ledger.Store, of ledger.Hash, ask uint64) transport.Item {
	t.Helper()
	item, err := pay(s, of, ask)
	check(t, err)
	return item
}

// pay charges an answer to plan ask, and stores a study state in which this number appears.
func pay(s *ledger.Store, of ledger.Hash, ask uint64) (transport.Item, error) {
	state := fmt.Appendf(nil, "answered %d", ask)
	return s.Charge(ledger.Change{Study: of, Parts: map[string][]byte{"site": state}}, release(ask), today, says)
}

func reopen(t testing.TB, s *ledger.Store) *ledger.Store {
	t.Helper()
	dir := s.Dir()
	check(t, s.Close())
	return open(t, dir)
}

func TestChargeIsKept(t *testing.T) {
	s := newStore(t)
	for ask := uint64(1); ask <= 3; ask++ {
		mustPay(t, s, study, ask)
	}
	sent := mustPay(t, s, other, 1)
	before, sequence := s.Accounts(), uint64(0)
	sequence, head := s.Head()

	s = reopen(t, s)
	defer s.Close()
	after := s.Accounts()
	if len(after) != 1 || after[0].Spent != before[0].Spent || len(after[0].Studies) != 2 || after[0].Studies[0].Answers != 3 {
		t.Errorf("accounts\n%+v\nwere\n%+v", after, before)
	}
	if n, h := s.Head(); n != sequence || h != head || n != 5 {
		t.Errorf("the head is %d %s, was %d %s", n, h, sequence, head)
	}
	item, ok, err := s.Unsent(other, 1)
	if err != nil || !ok || !bytes.Equal(item.Envelope, sent.Envelope) || !bytes.Equal(item.Body, sent.Body) {
		t.Errorf("unsent: %q %v %v, was %q", item.Body, ok, err, sent.Body)
	}
	if !strings.HasPrefix(string(item.Envelope), "envelope 5 "+head.String()) {
		t.Errorf("%q does not name the head %s", item.Envelope, head)
	}
	part, ok, err := s.Part(study, "site")
	if err != nil || !ok || string(part) != "answered 3" {
		t.Errorf("the state is %q %v %v", part, ok, err)
	}
	for n, want := range map[uint64]bool{sequence: true, sequence - 1: false, sequence + 1: false, 0: false} {
		if s.Contains(n, head) != want {
			t.Errorf("the head is entry %d: %v", n, !want)
		}
	}
	if !s.Contains(0, ledger.Hash{}) {
		t.Error("the empty ledger is not a beginning of this one")
	}
}

// For Gaussian releases, the accountant's cost is Σμ².
func TestCostsAreThoseOfTheMechanism(t *testing.T) {
	s := newStore(t)
	q, err := s.Quote("ward", promise, gaussian)
	check(t, err)
	if want := 1.0 / 64; q.Cost < want || q.Cost > want*(1+1e-12) || q.EpsilonBefore != 0 || !(q.EpsilonAfter > 0) {
		t.Errorf("one release is quoted at %+v", q)
	}
	mustPay(t, s, study, 1)
	if a, _ := s.Account("ward"); a.Spent != q.Cost || a.Left > a.Total-q.Cost || a.Epsilon != q.EpsilonAfter {
		t.Errorf("after one release the account is %+v", a)
	}
}

//abuse:case A04 a second charge for a plan is refused
func TestRefusalsChangeNothing(t *testing.T) {
	s := newStore(t)
	var last uint64
	var err error
	for ask := uint64(1); err == nil; ask++ {
		last = ask
		_, err = pay(s, study, ask)
	}
	var over *accountant.BudgetError
	if !errors.As(err, &over) || last < 2 {
		t.Fatalf("charge %d is refused with %v", last, err)
	}
	account, _ := s.Account("ward")
	sequence, head := s.Head()
	budget, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, accountant.Target{Epsilon: 100, Delta: 1e-5}, gaussian)
	check(t, err)
	charged := func(change func(r *ledger.Release)) func() error {
		return func() error {
			r := release(last)
			change(&r)
			_, err := s.Charge(ledger.Change{Study: study}, r, today, says)
			return err
		}
	}
	for name, f := range map[string]func() error{
		"beyond the cap": func() error { _, err := pay(s, study, last); return err },
		"a second answer": func() error {
			_, err := s.Charge(ledger.Change{Study: study}, release(1), today, func(uint64, ledger.Hash) (transport.Item, error) {
				t.Error("a second answer is signed")
				return transport.Item{}, nil
			})
			return err
		},
		"a second budget":         func() error { return s.AddBudget("ward", budget, today) },
		"a name for a path":       func() error { return s.AddBudget("../ward", budget, today) },
		"no budget":               charged(func(r *ledger.Release) { r.Dataset = "wing" }),
		"another kind of release": charged(func(r *ledger.Release) { r.Event = sampled }),
		"another adjacency": charged(func(r *ledger.Release) {
			r.Event = accountant.Gaussian{Sensitivity: 1e-9, Sigma: 1, Adjacency: accountant.ReplaceOne}
		}),
		"no event": charged(func(r *ledger.Release) { r.Event = nil }),
		"nothing to send": func() error {
			r := release(last)
			r.Event = accountant.Composed{}
			_, err := s.Charge(ledger.Change{Study: study}, r, today, func(uint64, ledger.Hash) (transport.Item, error) {
				return transport.Item{}, errors.New("no envelope")
			})
			return err
		},
	} {
		if err := f(); err == nil {
			t.Errorf("%s: not refused", name)
		}
		after, _ := s.Account("ward")
		if n, h := s.Head(); n != sequence || h != head || after.Spent != account.Spent {
			t.Errorf("%s: the ledger has changed", name)
		}
	}
	if part, _, err := s.Part(study, "site"); err != nil || string(part) != fmt.Sprintf("answered %d", last-1) {
		t.Errorf("the state is %q, %v", part, err)
	}
}

func TestStricterPromiseDecides(t *testing.T) {
	s := newStore(t)
	mustPay(t, s, study, 1)
	a, _ := s.Account("ward")
	for epsilon, fits := range map[float64]bool{a.Epsilon / 2: false, a.Epsilon * 1.01: false, 0.9: true, 1: true, 100: true} {
		_, err := s.Quote("ward", accountant.Target{Epsilon: epsilon, Delta: 1e-5}, gaussian)
		if (err == nil) != fits {
			t.Errorf("under a promise of %g: %v", epsilon, err)
		}
	}
	big := accountant.Gaussian{Sensitivity: 1, Sigma: 0.5, Adjacency: accountant.AddRemove}
	if _, err := s.Quote("ward", accountant.Target{Epsilon: 100, Delta: 1e-2}, big); err == nil {
		t.Error("a looser promise replaces that of the budget")
	}
}

func TestFilterFollowsTheReleases(t *testing.T) {
	for _, c := range []struct {
		event accountant.Event
		want  string
	}{{gaussian, ledger.Gaussian}, {sampled, ledger.Renyi}, {accountant.Composed{gaussian, sampled}, ledger.Renyi}} {
		b, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, promise, c.event)
		if err != nil || b.Filter != c.want || (b.Order != 0) != (c.want == ledger.Renyi) {
			t.Errorf("for %#v: %+v, %v", c.event, b, err)
		}
	}
	if _, err := ledger.NewBudget("ward", "", accountant.AddRemove, promise, gaussian); err == nil {
		t.Error("any unit is accepted")
	}
}

//abuse:case A23 the error of the second process names the first
func TestOneProcessAtATime(t *testing.T) {
	s := newStore(t)
	_, err := ledger.Open(s.Dir(), ledger.Options{Program: "test 1", Now: today})
	var held *ledger.Held
	if !errors.As(err, &held) || held.Command != "a test" || held.PID != os.Getpid() || !held.Since.Equal(today) {
		t.Fatalf("a second process: %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "a test") || !strings.Contains(text, "2030") {
		t.Errorf("%s does not name the process and the time", text)
	}
}

func TestSettledAnswersAreRemoved(t *testing.T) {
	s := newStore(t)
	for ask := uint64(1); ask <= 2; ask++ { // the second plan is settled, the first is not
		for _, of := range []ledger.Hash{study, other} {
			mustPay(t, s, of, ask)
		}
	}
	check(t, s.Save(ledger.Change{Study: study, Settled: 2, Parts: map[string][]byte{"site": nil, "position": []byte("1")}}))
	for _, c := range []struct {
		of   ledger.Hash
		ask  uint64
		want bool
	}{{study, 1, true}, {study, 2, false}, {other, 1, true}, {other, 2, true}} {
		if _, ok, err := s.Unsent(c.of, c.ask); ok != c.want || err != nil {
			t.Errorf("answer %d is kept: %v, %v", c.ask, ok, err)
		}
	}
	if _, ok, err := s.Part(study, "site"); ok || err != nil {
		t.Errorf("a removed part is there, %v", err)
	}
	if asks, err := s.Outbox(study); err != nil || len(asks) != 1 || asks[0] != 1 {
		t.Errorf("kept are %v, %v", asks, err)
	}
	if _, err := pay(s, study, 2); err == nil {
		t.Error("a settled plan may be answered again")
	}
	if all, err := s.Studies(); err != nil || len(all) != 2 {
		t.Errorf("studies %v, %v", all, err)
	}
}

// A study's state may have numbers that were computed from records without noise.
//
//abuse:case A17 numbers computed from records are encrypted at rest
func TestStateIsEncrypted(t *testing.T) {
	s := newStore(t)
	canary := bytes.Repeat([]byte("canary"), 100)
	check(t, s.Save(ledger.Change{Study: study, Parts: map[string][]byte{"site": canary}}))
	path := filepath.Join(s.Dir(), ledger.File)
	check(t, s.Close())
	file, err := os.ReadFile(path)
	check(t, err)
	if bytes.Contains(file, []byte("canary")) {
		t.Error("the state is readable in the file")
	}
}

//abuse:case A18 the ledger names files by a keyed hash
func TestRecordsAreNamedForTheHolderAlone(t *testing.T) {
	a, b := newStore(t), newStore(t)
	name := func(s *ledger.Store, content string) ledger.Hash {
		h, err := ledger.NameRecords(s.Identity(), func(named io.Writer) error {
			_, err := io.WriteString(named, content)
			return err
		})
		check(t, err)
		return h
	}
	first, again := name(a, "x,y\n1,2\n"), name(a, "x,y\n1,2\n")
	if first != again || first == name(a, "x,y\n1,3\n") {
		t.Error("the name of a file depends on more than its content")
	}
	if name(a, "x,y\n1,2\n") == name(b, "x,y\n1,2\n") || name(a, "") == ledger.Hash(sha256.Sum256(nil)) {
		t.Error("a name can be computed from the records alone")
	}
}

// Otherwise the record file would have a second budget.
//
//abuse:case A24 refused under a second name, also after a restart
func TestFileOfRecordsHasOneBudget(t *testing.T) {
	s := newStore(t)
	b, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, promise, gaussian)
	check(t, err)
	check(t, s.AddBudget("copy", b, today))
	r := release(1)
	r.Records = ledger.Hash{7}
	_, err = s.Charge(ledger.Change{Study: study}, r, today, says)
	check(t, err)
	for range 2 {
		if named, ok := s.ChargedTo(r.Records); !ok || named != "ward" {
			t.Errorf("charged to %q, %v", named, ok)
		}
		again := r
		again.Dataset, again.Ask = "copy", 2
		var refused *ledger.Refused
		if _, err := s.Charge(ledger.Change{Study: study}, again, today, says); !errors.As(err, &refused) {
			t.Errorf("a second budget: %v", err)
		}
		if a, _ := s.Account("copy"); a.Spent != 0 {
			t.Errorf("%g was spent", a.Spent)
		}
		s = reopen(t, s)
	}
	check(t, s.Close())
}
