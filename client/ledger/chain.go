package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"fedpvi/accountant"
	"fedpvi/crypto/identity"
)

// A Fault describes an invalid ledger entry.
type Fault struct {
	Sequence uint64 // number of the entry, from 1; 0 if the whole ledger is invalid
	Problem  string
}

func (f *Fault) Error() string {
	if f.Sequence == 0 {
		return "ledger: " + f.Problem
	}
	return fmt.Sprintf("ledger, entry %d: %s", f.Sequence, f.Problem)
}

// roundOff is the tolerance, as a relative difference, between a recorded cost and the same cost
// when it is recomputed, possibly on another machine.
const roundOff = 0x1p-40

// A chain is the result of the ledger entries read so far: an account for each data set, and
// indices of the entries.
type chain struct {
	holder   identity.PublicKey
	heads    []Hash // the hash of entry n has index n − 1
	accounts map[string]*account
	answered map[answer]uint64 // number of the entry that charges the answer
	names    map[Hash]string   // data set to which a record file was first charged, keyed by the file's hash
}

// An answer identifies an answer by its study and plan.
type answer struct {
	study Hash
	ask   uint64
}

// An account is a data set's budget with its charges.
type account struct {
	budget  Budget
	filter  *accountant.Filter
	made    time.Time
	charges []charged
}

type charged struct {
	event accountant.Event
	cost  float64
	study Hash
	ask   uint64
	at    time.Time
}

func newChain(holder identity.PublicKey) *chain {
	return &chain{holder: holder, accounts: map[string]*account{}, answered: map[answer]uint64{}, names: map[Hash]string{}}
}

// head returns the number and hash of the last entry. If the chain is empty, both are zero.
func (c *chain) head() (uint64, Hash) {
	if len(c.heads) == 0 {
		return 0, Hash{}
	}
	return uint64(len(c.heads)), c.heads[len(c.heads)-1]
}

// read parses the next line of the ledger. It checks the signature, the order and the costs, and
// applies the entry. The error is a *Fault.
func (c *chain) read(b []byte) (Stamp, error) {
	next := uint64(len(c.heads)) + 1
	s, err := parseStamp(b, c.holder)
	var take func()
	if err == nil {
		take, err = c.check(s)
	}
	if err != nil {
		return Stamp{}, &Fault{Sequence: next, Problem: err.Error()}
	}
	take()
	return s, nil
}

// check checks that an entry is the next one and follows the rules. The function take adds it to
// the chain.
func (c *chain) check(s Stamp) (take func(), err error) {
	sequence, previous := c.head()
	e := s.Entry
	switch {
	case e.Version != Version:
		return nil, fmt.Errorf("version %d is not supported, only %d: a newer program wrote it, so use that one", e.Version, Version)
	case e.Sequence != sequence+1:
		return nil, fmt.Errorf("it has the number %d: an entry is missing, duplicated or out of order", e.Sequence)
	case e.Previous != previous:
		return nil, errors.New("it does not follow the previous entry: one of the two was replaced")
	case (e.Budget == nil) == (e.Charge == nil):
		return nil, errors.New("it must be either a budget or a charge")
	case e.Budget != nil && s.Envelope != Hash{}:
		return nil, errors.New("a budget must not name an envelope")
	}
	if _, err := identity.ParseName(e.Dataset); err != nil {
		return nil, fmt.Errorf("name of the data set: %w", err)
	}
	step := c.charge
	if e.Budget != nil {
		step = c.open
	}
	count, err := step(e)
	return func() {
		count()
		c.heads = append(c.heads, s.Hash)
	}, err
}

// open checks an entry that creates a budget. The function take applies it.
func (c *chain) open(e Entry) (take func(), err error) {
	if _, ok := c.accounts[e.Dataset]; ok {
		return nil, fmt.Errorf("the data set %s already has a budget, which never changes", e.Dataset)
	}
	filter, err := e.Budget.NewFilter()
	if err != nil {
		return nil, err
	}
	made := &account{budget: *e.Budget, filter: filter, made: e.Time}
	return func() { c.accounts[e.Dataset] = made }, nil
}

// charge checks that the cost in an entry is right and fits into the budget. The function take
// applies the entry.
func (c *chain) charge(e Entry) (take func(), err error) {
	key := answer{e.Charge.Study, e.Charge.Ask}
	if before, ok := c.answered[key]; ok {
		return nil, fmt.Errorf("it pays for a second answer to plan %d of a study: entry %d paid for one", e.Charge.Ask, before)
	}
	a, err := c.account(e.Dataset)
	if err != nil {
		return nil, err
	}
	event, err := accountant.UnmarshalEvent(e.Charge.Event)
	if err != nil {
		return nil, err
	}
	price, err := a.price(event)
	if err != nil {
		return nil, err
	}
	if err := price.agrees(e.Charge); err != nil {
		return nil, err
	}
	return func() {
		a.filter = price.after
		a.charges = append(a.charges, charged{event, price.cost, e.Charge.Study, e.Charge.Ask, e.Time})
		c.answered[key] = e.Sequence
		if _, ok := c.names[e.Charge.Records]; !ok {
			c.names[e.Charge.Records] = e.Dataset
		}
	}, nil
}

func (c *chain) account(dataset string) (*account, error) {
	a, ok := c.accounts[dataset]
	if !ok {
		known := slices.Sorted(maps.Keys(c.accounts))
		return nil, fmt.Errorf("the data set %q has no budget (there are budgets for %q)", dataset, known)
	}
	return a, nil
}

// A price is the cost of an event in a filter's unit, and the filter after the event is charged.
type price struct {
	cost  float64
	after *accountant.Filter
}

// price returns the price of an event. If the event does not fit into the budget, the error is an
// *accountant.BudgetError. The account does not change.
func (a *account) price(e accountant.Event) (price, error) {
	after := a.filter.Clone()
	cost, err := after.Admit(e)
	return price{cost, after}, err
}

// agrees checks that a charge has recorded the numbers of this price.
func (p price) agrees(c *Charge) error {
	for _, n := range []struct {
		what           string
		said, computed float64
	}{
		{"the cost", c.Cost, p.cost},
		{"the spent budget", c.Spent, p.after.Spent()},
		{"the spent divergence", c.SpentDivergence, p.after.SpentDivergence()},
	} {
		if !(math.Abs(n.said-n.computed) <= roundOff*n.computed) {
			return fmt.Errorf("%s is %.17g, but the computed value is %.17g: the numbers were changed", n.what, n.said, n.computed)
		}
	}
	return nil
}

// under returns a filter that has the account's charges but a stricter limit than the budget. If
// the charges exceed the limit, under returns an error.
func (a *account) under(target accountant.Target) (*accountant.Filter, error) {
	b := a.budget
	b.Epsilon, b.Delta = target.Epsilon, target.Delta
	filter, err := b.NewFilter()
	for _, c := range a.charges {
		if err != nil {
			break
		}
		err = filter.Charge(c.event)
	}
	return filter, err
}
