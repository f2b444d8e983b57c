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

// An Account describes a data set's budget, for display.
type Account struct {
	Dataset string    `json:"dataset"`
	Budget  Budget    `json:"budget"`
	Made    time.Time `json:"made"`
	Unit    string    `json:"counted_in"` // unit of Total, Spent and Left
	Total   float64   `json:"total"`
	Spent   float64   `json:"spent"`
	Left    float64   `json:"left"`
	// Epsilon is the ε that all releases so far would have, at the budget's δ, if they had been
	// planned in advance. It is only for information. The guarantee is the ε of the whole budget.
	Epsilon float64      `json:"epsilon_so_far"`
	Studies []StudySpent `json:"studies"`
}

// Counted tells in which unit the account's numbers are counted, and gives the ε of all releases so
// far.
func (a *Account) Counted() string {
	return fmt.Sprintf("Counted in %s. If all of it had been planned in advance, ε would be %.3g so far.", a.Unit, a.Epsilon)
}

// RightGuess returns an upper bound on how likely an observer who sees all releases under the
// budget is to tell two neighbouring data sets apart: it bounds the probability of a right guess if
// both are equally likely.
func (a *Account) RightGuess() float64 {
	if a.Budget.Filter == Gaussian {
		return accountant.GaussianGuess(math.Sqrt(a.Total))
	}
	return (1 + accountant.AdvantageBound(a.Budget.Epsilon, a.Budget.Delta)) / 2
}

// Remaining returns Left as text. If Left is only a rounding error of the total, it returns 0.
func (a *Account) Remaining() string {
	if a.Left < 1e-5*a.Total {
		return "0"
	}
	return fmt.Sprintf("%.4g", a.Left)
}

// A StudySpent tells how much of a budget one study has spent.
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

// Account returns a data set's budget, or false if the data set has none.
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
		if c.ask > 0 { // ask is 0 in a correction of earlier charges, which is not an answer
			of.Answers++
		}
	}
	return out
}

// A Quote is the cost of a release before it is charged.
type Quote struct {
	Unit  string  `json:"counted_in"`
	Cost  float64 `json:"cost"`
	Left  float64 `json:"left"` // what the budget had left before the release
	Total float64 `json:"total"`
	// EpsilonBefore and EpsilonAfter are [Account].Epsilon before and after the release.
	EpsilonBefore float64 `json:"epsilon_before"`
	EpsilonAfter  float64 `json:"epsilon_after"`
}

// Quote returns the cost of a release on a data set without charging it. The release must fit into
// the budget, and also into the limit promise, which can be stricter. If it does not, the error is
// the *accountant.BudgetError that a charge would return. If the data set has no budget, the error
// is a [*Refused].
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

// Quote returns the cost of a release under a budget that has no charges yet.
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

// Head returns the number and hash of the last entry. If the ledger is empty, both are zero.
func (s *Store) Head() (sequence uint64, head Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chain.head()
}

// Contains reports whether the ledger has an entry with the given number and hash, or both are
// zero. Each answer of a client names an entry of its ledger. If the entry is missing, the ledger
// was restored from a backup, or another copy of it is in use.
func (s *Store) Contains(sequence uint64, head Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sequence == 0 {
		return head == Hash{}
	}
	return sequence <= uint64(len(s.chain.heads)) && s.chain.heads[sequence-1] == head
}

// Answered returns the number of the entry that charges the answer to plan ask, if there is one.
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

// ChargedTo returns the data set to which a record file was first charged. If it was never charged,
// it returns false. A record file must not be charged to two budgets.
func (s *Store) ChargedTo(records Hash) (dataset string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dataset, ok = s.chain.names[records]
	return dataset, ok
}

// Stamps calls f with each entry in order. It stops at the first error.
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
