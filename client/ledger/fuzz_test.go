package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/client/ledger"
	"fedpvi/internal/testing/memory"
)

// FuzzFile changes bytes of the store's file. The file has the states after the last two commits,
// so Open must return one of them or report damage.
//
//abuse:case A15 a changed file is damaged, or has the state of a commit
func FuzzFile(f *testing.F) {
	s := newStore(f)
	mustPay(f, s, study, 1)
	dir, path := s.Dir(), filepath.Join(s.Dir(), ledger.File)
	want, _ := s.Account("ward")
	check(f, s.Close())
	good, err := os.ReadFile(path)
	check(f, err)
	f.Add(uint32(16), []byte{0xff})
	f.Add(uint32(4096*2+8), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(4096*3), []byte{0})
	for page := range uint32(8) {
		for _, field := range []uint32{0, 8, 10, 12, 15, 16, 23, 24, 27, 28, 31} { // offsets of fields in a page header and in the first element of the page
			f.Add(page*4096+field, []byte{0x7f})
		}
	}
	open := func() {
		if s, err := ledger.Open(dir, ledger.Options{Existing: true, Now: today}); err == nil {
			s.Close()
		}
	}
	fixed := memory.Allocated(open)
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		if len(patch) > 64 {
			return
		}
		changed := append([]byte(nil), good...)
		copy(changed[min(int(at), len(changed)):], patch)
		check(t, os.WriteFile(path, changed, 0o600))
		memory.Beside(t, fixed, len(changed), open)
		check(t, os.WriteFile(path, changed, 0o600))
		s, err := ledger.Open(dir, ledger.Options{Existing: true, Now: today})
		if err != nil {
			if damaged := new(ledger.Damaged); !errors.As(err, &damaged) {
				t.Errorf("refused, and not as damaged: %v", err)
			}
			return
		}
		defer s.Close()
		if a, ok := s.Account("ward"); ok && a.Spent != want.Spent && a.Spent != 0 {
			t.Errorf("%g was spent, and now it is %g", want.Spent, a.Spent)
		}
		s.Part(study, "site")
		s.Outbox(study)
		s.Unsent(study, 1)
	})
}
