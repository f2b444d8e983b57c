package ledger_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/internal/durable"
)

func hexOf(b [64]byte) string { return hex.EncodeToString(b[:]) }

var errKilled = errors.New("killed")

func copyTo(t testing.TB, from, to string) {
	t.Helper()
	check(t, os.MkdirAll(to, 0o700))
	for _, name := range []string{ledger.File, ledger.AnchorFile, ledger.IdentityFile, ledger.StateKeyFile} {
		b, err := os.ReadFile(filepath.Join(from, name))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(to, name), b, 0o600))
	}
}

//abuse:case A01 a charge and its bytes are both on disk, or neither
//abuse:case A15 a commit that fails: no message is returned, and the store accepts nothing more
func TestCrashLeavesAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		point string
		kept  bool
	}{{"charge: before the commit", false}, {"charge: after the commit", true}} {
		s := newStore(t)
		mustPay(t, s, study, 1)
		first, _ := s.Account("ward")
		s.Interrupt(func(point string) error {
			if point == c.point {
				return errKilled
			}
			return nil
		})
		if _, err := pay(s, study, 2); !errors.Is(err, errKilled) {
			t.Fatalf("%s: %v", c.point, err)
		}
		if _, err := pay(s, study, 3); err == nil {
			t.Fatalf("%s: the store continues", c.point)
		}
		check(t, s.Abandon())
		s = open(t, s.Dir())
		account, _ := s.Account("ward")
		_, unsent, err := s.Unsent(study, 2)
		check(t, err)
		state, _, err := s.Part(study, "site")
		check(t, err)
		_, answered := s.Answered(study, 2)
		if (account.Spent > first.Spent) != c.kept || unsent != c.kept || (string(state) == "answered 2") != c.kept || answered != c.kept {
			t.Errorf("%s: spent %g of %g, unsent %v, state %q, answered %v", c.point, account.Spent, first.Spent, unsent, state, answered)
		}
		check(t, s.Close())
	}
}

// After a power failure during a commit, any part of its writes may be on disk. A commit writes
// first its data pages, and then one of the two meta pages.
//
//abuse:case A01 all or nothing, whichever pages reached the disk
func TestTornCommitLeavesAllOrNothing(t *testing.T) {
	s := newStore(t)
	mustPay(t, s, study, 1)
	path := filepath.Join(s.Dir(), ledger.File)
	before, err := os.ReadFile(path)
	check(t, err)
	anchor, err := os.ReadFile(filepath.Join(s.Dir(), ledger.AnchorFile)) // the anchor is written after the commit
	check(t, err)
	mustPay(t, s, study, 2)
	check(t, s.Close())
	after, err := os.ReadFile(path)
	check(t, err)
	page := os.Getpagesize()
	if len(before) != len(after) {
		t.Fatalf("the file has grown from %d to %d bytes: take a smaller step", len(before), len(after))
	}
	torn := func(name string, file []byte, kept bool) {
		dir := filepath.Join(t.TempDir(), "state")
		copyTo(t, s.Dir(), dir)
		check(t, os.WriteFile(filepath.Join(dir, ledger.File), file, 0o600))
		check(t, os.WriteFile(filepath.Join(dir, ledger.AnchorFile), anchor, 0o600))
		again := open(t, dir)
		defer again.Close()
		if _, ok, err := again.Unsent(study, 2); err != nil || ok != kept {
			t.Errorf("%s: unsent %v, %v", name, ok, err)
		}
		if n, _ := again.Head(); (n == 3) != kept {
			t.Errorf("%s: %d entries", name, n)
		}
		if _, ok, err := again.Unsent(study, 1); err != nil || !ok {
			t.Errorf("%s: the previous answer is lost, %v", name, err)
		}
	}
	torn("nothing of it", before, false)
	torn("all of it", after, true)
	for end := 2 * page; end <= len(after); end += page {
		// This file has new data pages but old meta pages.
		file := append(append([]byte(nil), before[:2*page]...), after[2*page:end]...)
		torn("pages in order", append(file, before[end:]...), false)
		file = append(append([]byte(nil), before[:end-page]...), after[end-page:end]...)
		if end > 2*page {
			torn("one page", append(file, before[end:]...), false)
		}
	}
	for cut := 1; cut < page; cut += page / 7 {
		for meta := range 2 { // the failure cuts off the changed meta page in the middle
			file := append([]byte(nil), after...)
			copy(file[meta*page+cut:(meta+1)*page], before[meta*page+cut:(meta+1)*page])
			if string(file) == string(after) {
				continue
			}
			torn("half of a meta page", file, false)
		}
	}
}

func TestFullDiskIsNoDamage(t *testing.T) {
	s := newStore(t)
	check(t, s.Close())
	full := errors.New("no space left on device")
	_, err := ledger.Open(s.Dir(), ledger.Options{Now: today, Layer: durable.Layer{
		File: func(string) (durable.File, error) { return nil, full },
	}})
	if damaged := new(ledger.Damaged); !errors.Is(err, full) || errors.As(err, &damaged) {
		t.Errorf("%v", err)
	}
	check(t, open(t, s.Dir()).Close())
}

//abuse:case A01 after random operations and crashes the recorded spend is never below the true one
//abuse:case P19 every answer is charged to the one filter of its data set
func TestSpentIsNeverBelowReleased(t *testing.T) {
	event := func(t *rapid.T) accountant.Event {
		sigma := rapid.Float64Range(2, 40).Draw(t, "sigma")
		return accountant.Gaussian{Sensitivity: 1, Sigma: sigma, Adjacency: accountant.AddRemove}
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "state")
		s := open(t, dir)
		budget, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, promise, gaussian)
		check(t, err)
		if rapid.Bool().Draw(rt, "renyi") {
			budget = budget.AtOrder(0)
		}
		check(t, s.AddBudget("ward", budget, today))
		truth, err := budget.NewFilter()
		check(t, err)
		released := map[uint64]string{}
		var spent float64
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			ask := uint64(rapid.IntRange(1, 4).Draw(rt, "question"))
			r := release(ask)
			r.Event = event(rt)
			dies := rapid.SampledFrom([]string{"", "", "before", "after"}).Draw(rt, "dies")
			s.Interrupt(func(point string) error {
				if dies != "" && strings.Contains(point, dies) {
					return errKilled
				}
				return nil
			})
			item, err := s.Charge(ledger.Change{Study: study, Parts: map[string][]byte{"site": {1}}}, r, today, says)
			if errors.Is(err, errKilled) {
				check(t, s.Abandon())
				s = open(t, dir)
				var ok bool
				item, ok, err = s.Unsent(study, ask)
				if err == nil && !ok {
					continue // the crash happened before the commit, so the state is unchanged
				}
			} else if err != nil {
				continue
			}
			check(t, err)
			if before, ok := released[ask]; ok && before != string(item.Envelope) {
				rt.Fatalf("plan %d is answered with %q and %q", ask, before, item.Envelope)
			}
			if _, ok := released[ask]; !ok {
				check(t, truth.Charge(r.Event))
			}
			released[ask] = string(item.Envelope)
			a, _ := s.Account("ward")
			if a.Spent < truth.Spent() || a.Spent < spent || a.Spent > a.Total {
				rt.Fatalf("recorded %g, released %g, recorded before %g, budget %g", a.Spent, truth.Spent(), spent, a.Total)
			}
			spent = a.Spent
		}
		check(t, s.Close())
		s = open(t, dir)
		defer s.Close()
		if a, _ := s.Account("ward"); a.Spent != spent {
			rt.Fatalf("recorded %g, and %g after a restart", spent, a.Spent)
		}
	})
}

func TestFailedAnswerIsCharged(t *testing.T) {
	s := newStore(t)
	check(t, s.Lose(ledger.Change{Study: study}, release(1), today))
	s = reopen(t, s)
	defer s.Close()
	if a, _ := s.Account("ward"); a.Spent < 1.0/64 {
		t.Errorf("spent %g", a.Spent)
	}
	if _, ok, err := s.Unsent(study, 1); ok || err != nil {
		t.Errorf("there is a message to send, %v", err)
	}
	if _, err := pay(s, study, 1); err == nil {
		t.Error("the plan is answered once more")
	}
}
