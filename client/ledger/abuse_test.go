package ledger_test

import (
	"errors"
	"sync"
	"testing"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
)

//abuse:case A23 the charges that fit are accepted, all others get the same refusal
func TestTheLastOfABudget(t *testing.T) {
	s := newStore(t)
	fits := 0
	for ; ; fits++ {
		if _, err := pay(s, study, uint64(fits+1)); err != nil {
			break
		}
	}
	const room = 3
	s = reopen(t, newStore(t))
	for ask := range fits - room {
		mustPay(t, s, study, uint64(ask+1))
	}
	const racers = 12
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = pay(s, ledger.Hash{byte(i + 1)}, 1) })
	}
	wg.Wait()
	paid, said := 0, map[string]int{}
	for _, err := range errs {
		if over := new(accountant.BudgetError); errors.As(err, &over) {
			said[err.Error()]++
		} else if check(t, err); err == nil {
			paid++
		}
	}
	if paid != room || len(said) != 1 {
		t.Errorf("%d of %d that fit were charged, and the others got %v", paid, room, said)
	}
	before, _ := s.Account("ward")
	s = reopen(t, s)
	defer s.Close()
	if after, _ := s.Account("ward"); after.Spent != before.Spent || after.Spent > after.Total {
		t.Errorf("%+v, and after a restart %+v", before, after)
	}
}
