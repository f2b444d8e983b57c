package ledger

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"fedpvi/accountant"
)

// An Account describes the budget of a data set, for display.
type Account struct {
	Dataset string    `json:"dataset"`
	Budget  Budget    `json:"budget"`
	Made    time.Time `json:"made"`
	Unit    string    `json:"counted_in"` // unit of Total, Spent and Left
	Total   float64   `json:"total"`
	Spent   float64   `json:"spent"`
	Left    float64   `json:"left"`
	// Epsilon is the ε of all releases so far, at the budget's δ, as if they had been planned in
	// advance. It is for information: the guarantee is the ε of the whole budget.
	Epsilon float64      `json:"epsilon_so_far"`
	Studies []StudySpent `json:"studies"`
}

// Counted describes the unit of the account's numbers, and the ε of all releases so far.
func (a *Account) Counted() string {
	return fmt.Sprintf("Counted in %s. If all of it had been planned in advance, ε would be %.3g so far.", a.Unit, a.Epsilon)
}

// RightGuess returns an upper bound on the probability that somebody who sees all releases under the
// budget guesses right which of two neighbouring data sets they are from, if both are equally likely.
func (a *Account) RightGuess() float64 {
	if a.Budget.Filter == Gaussian {
		return accountant.GaussianGuess(math.Sqrt(a.Total))
	}
	return (1 + accountant.AdvantageBound(a.Budget.Epsilon, a.Budget.Delta)) / 2
}

// Remaining returns Left as text. It is 0 where Left is only a rounding error of the total.
func (a *Account) Remaining() string {
	if a.Left < 1e-5*a.Total {
		return "0"
	}
	return fmt.Sprintf("%.4g", a.Left)
}

// A StudySpent states how much of a budget one study has spent.
type StudySpent struct {
	Study   Hash      `json:"study"`
	Answers int       `json:"answers"`
	Spent   float64   `json:"spent"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// Accounts returns the budgets of all data sets, sorted by name.
func (s *Store) Accounts() []Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chain.summary()
}

// Account returns the budget of a data set, or false if it has none.
func (s *Store) Account(dataset string) (Account, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.chain.accounts[dataset]
	if !ok {
		return Account{}, false
	}
	return a.summary(dataset), true
}

func (c *chain) summary() []Account {
	var all []Account
	for _, name := range slices.Sorted(maps.Keys(c.accounts)) {
		all = append(all, c.accounts[name].summary(name))
	}
	return all
}

func (a *account) summary(dataset string) Account {
	f := a.filter
	out := Account{
		Dataset: dataset, Budget: a.budget, Made: a.made, Unit: f.Unit(),
		Total: f.Budget(), Spent: f.Spent(), Left: f.Left(), Epsilon: f.Epsilon(),
	}
	for _, c := range a.charges {
		i := slices.IndexFunc(out.Studies, func(s StudySpent) bool { return s.Study == c.study })
		if i < 0 {
			i = len(out.Studies)
			out.Studies = append(out.Studies, StudySpent{Study: c.study, First: c.at})
		}
		of := &out.Studies[i]
		of.Spent, of.Last = of.Spent+c.cost, c.at
		if c.ask > 0 { // ask is 0 in a correction of earlier charges, which is no answer
			of.Answers++
		}
	}
	return out
}

// A Quote states the cost of a release before it is charged.
type Quote struct {
	Unit  string  `json:"counted_in"`
	Cost  float64 `json:"cost"`
	Left  float64 `json:"left"` // remaining budget before the release
	Total float64 `json:"total"`
	// EpsilonBefore and EpsilonAfter are the values of [Account].Epsilon before and after the
	// release.
	EpsilonBefore float64 `json:"epsilon_before"`
	EpsilonAfter  float64 `json:"epsilon_after"`
}

// Quote returns the cost of a release on a data set without charging it. If it does not fit into
// the budget, or into the limit promise, which can be stricter, the error is the
// *accountant.BudgetError of a charge. If the data set has no budget, the error is a [*Refused].
func (s *Store) Quote(dataset string, promise accountant.Target, e accountant.Event) (Quote, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.chain.account(dataset)
	if err != nil {
		return Quote{}, &Refused{err.Error()}
	}
	q, err := quote(a.filter.Clone(), e)
	if err != nil || promise.Epsilon >= a.budget.Epsilon && promise.Delta >= a.budget.Delta {
		return q, err
	}
	promise.Epsilon, promise.Delta = min(promise.Epsilon, a.budget.Epsilon), min(promise.Delta, a.budget.Delta)
	strict, err := a.under(promise)
	if err != nil {
		return q, err
	}
	return quote(strict, e)
}

// Quote returns the cost of a release for a budget without any charges.
func (b Budget) Quote(e accountant.Event) (Quote, error) {
	f, err := b.NewFilter()
	if err != nil {
		return Quote{}, err
	}
	return quote(f, e)
}

func quote(f *accountant.Filter, e accountant.Event) (Quote, error) {
	q := Quote{Unit: f.Unit(), Left: f.Left(), Total: f.Budget(), EpsilonBefore: f.Epsilon()}
	var err error
	if q.Cost, err = f.Quote(e); err != nil {
		return q, err
	}
	err = f.Charge(e)
	q.EpsilonAfter = f.Epsilon()
	return q, err
}

// Head returns the number and hash of the last entry, or zeros if the ledger is empty.
func (s *Store) Head() (sequence uint64, head Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chain.head()
}

// Contains reports whether the ledger has an entry with the given number and hash, or both are
// zero. Every answer of a client names an entry of its ledger. If the ledger lacks an entry that an
// earlier answer named, it was restored from a backup, or another copy is in use.
func (s *Store) Contains(sequence uint64, head Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sequence == 0 {
		return head == Hash{}
	}
	return sequence <= uint64(len(s.chain.heads)) && s.chain.heads[sequence-1] == head
}

// Answered returns the number of the entry that charges the answer to plan number ask.
func (s *Store) Answered(study Hash, ask uint64) (sequence uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sequence, ok = s.chain.answered[answer{study, ask}]
	return sequence, ok
}

// Charged returns the entry that charges the answer to a plan.
func (s *Store) Charged(study Hash, ask uint64) (e Entry, err error) {
	sequence, ok := s.Answered(study, ask)
	if !ok {
		return e, fmt.Errorf("plan %d was not charged", ask)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		line := tx.Bucket(chainBucket).Get(binary.BigEndian.AppendUint64(nil, sequence))
		stamp, err := parseStamp(append([]byte(nil), line...), s.holder.Public())
		e = stamp.Entry
		return err
	})
	return e, err
}

// ChargedTo returns the data set to which a file of records was first charged, or false if it never
// was. A file must not be charged to two budgets.
func (s *Store) ChargedTo(records Hash) (dataset string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dataset, ok = s.chain.names[records]
	return dataset, ok
}

// Stamps calls f with every entry in order, and stops at the first error.
func (s *Store) Stamps(f func(Stamp) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(chainBucket).ForEach(func(_, v []byte) error {
			stamp, err := parseStamp(append([]byte(nil), v...), s.holder.Public())
			if err != nil {
				return err
			}
			return f(stamp)
		})
	})
}
