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

// A Fault describes an invalid entry of a ledger.
type Fault struct {
	Sequence uint64 // position of the entry, from 1; 0 for the whole ledger
	Problem  string
}

func (f *Fault) Error() string {
	if f.Sequence == 0 {
		return "ledger: " + f.Problem
	}
	return fmt.Sprintf("ledger, entry %d: %s", f.Sequence, f.Problem)
}

// roundOff is the accepted relative difference between a recorded cost and the same cost computed
// again, possibly on another machine.
const roundOff = 0x1p-40

// A chain is the state that follows from the ledger entries read so far: the accounts of the data
// sets, and indices of the entries.
type chain struct {
	holder   identity.PublicKey
	heads    []Hash // hash of entry n at index n − 1
	accounts map[string]*account
	answered map[answer]uint64 // number of the entry that charges the answer
	names    map[Hash]string   // first data set charged for a file of records, by the hash of the file
}

// An answer identifies the answer to one plan of one study.
type answer struct {
	study Hash
	ask   uint64
}

// An account contains a data set's budget and its charges.
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

// head returns the number and hash of the last entry, or zeros if the chain is empty.
func (c *chain) head() (uint64, Hash) {
	if len(c.heads) == 0 {
		return 0, Hash{}
	}
	return uint64(len(c.heads)), c.heads[len(c.heads)-1]
}

// read parses the next line of the ledger, checks its signature, order and costs, and applies it.
// The error is a *Fault.
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

// check checks that an entry is the next one and obeys the rules. take adds it to the chain.
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

// open checks an entry that creates a budget. take applies the entry.
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

// charge checks that the cost in an entry is correct and fits into the budget. take applies the
// entry.
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

// A price is the cost of an event in the unit of a filter, and the filter after it.
type price struct {
	cost  float64
	after *accountant.Filter
}

// price returns the price of an event, or an *accountant.BudgetError if the event does not fit into
// the budget. The account does not change.
func (a *account) price(e accountant.Event) (price, error) {
	after := a.filter.Clone()
	cost, err := after.Admit(e)
	return price{cost, after}, err
}

// agrees checks that the recorded numbers of a charge are the computed ones.
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

// under returns a filter with all charges of the account under a stricter limit than the budget, or
// an error if they exceed it.
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
