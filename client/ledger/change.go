package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"fedpvi/accountant"
	"fedpvi/transport"
)

// A Change is an update of a study's saved state. It is made in one transaction.
type Change struct {
	Study Hash
	// Parts maps the names of values to their new contents, which are encrypted on disk. A value
	// that maps to nil is removed.
	Parts map[string][]byte
	// Settled is the number of a plan whose outcome is known, or 0. The client will not send its
	// answer again, so the stored answer can be removed.
	Settled uint64
}

// A Release describes an answer that is about to be charged. It has the event, and the hashes and
// names that the charge records.
type Release struct {
	Dataset  string
	Protocol Hash
	Roster   Hash
	Policy   Hash
	Records  Hash
	Ask      uint64
	View     string
	Event    accountant.Event
}

// Save makes a change in its own transaction, without a charge.
func (s *Store) Save(c Change) error {
	parts, err := s.sealParts(c)
	if err != nil {
		return err
	}
	return s.update("save", func(tx *bbolt.Tx) (func(), error) {
		return func() {}, s.apply(tx, c, parts)
	})
}

// AddBudget adds an entry that creates a data set's budget.
func (s *Store) AddBudget(dataset string, b Budget, now time.Time) error {
	return s.update("budget", func(tx *bbolt.Tx) (func(), error) {
		e := s.next(dataset, now)
		e.Budget = &b
		return s.put(tx, e, func(Hash) (Hash, error) { return Hash{}, nil })
	})
}

// Lose charges an answer whose computation failed after its noise was drawn. It stores no message.
// The plan counts as answered.
func (s *Store) Lose(c Change, r Release, now time.Time) error {
	return s.pay("lose", c, r, now, func(*bbolt.Tx, uint64, Hash) (Hash, error) { return Hash{}, nil })
}

// Charge charges a release and returns the message to send. The charge, the change and the message
// become durable together or not at all. If the release does not fit into the budget, the error is
// an [*accountant.BudgetError]. If the plan has already been answered, it is a [*Refused].
//
// The function wrap makes the message. It gets the number and hash of the new entry, and must put
// them into the envelope. If the commit fails, the transaction may or may not be on disk. The store
// then accepts no more changes, and the next [Open] reads the state from the disk.
func (s *Store) Charge(c Change, r Release, now time.Time, wrap func(sequence uint64, head Hash) (transport.Item, error)) (transport.Item, error) {
	var item transport.Item
	err := s.pay("charge", c, r, now, func(tx *bbolt.Tx, sequence uint64, head Hash) (_ Hash, err error) {
		if item, err = wrap(sequence, head); err != nil {
			return Hash{}, err
		}
		return sha256.Sum256(item.Envelope), tx.Bucket(outboxBucket).Put(outboxKey(c.Study, r.Ask), encodeItem(item))
	})
	if err != nil {
		return transport.Item{}, err
	}
	return item, nil
}

// pay makes a charge for the release r and the change c in one transaction. In this transaction it
// calls send, which saves the message for the coordinator and returns the hash of its envelope.
func (s *Store) pay(name string, c Change, r Release, now time.Time, send func(tx *bbolt.Tx, sequence uint64, head Hash) (Hash, error)) error {
	parts, err := s.sealParts(c)
	if err != nil {
		return err
	}
	return s.update(name, func(tx *bbolt.Tx) (func(), error) {
		e := s.next(r.Dataset, now)
		if e.Charge, err = s.charge(c.Study, r); err != nil {
			return nil, err
		}
		keep, err := s.put(tx, e, func(head Hash) (Hash, error) { return send(tx, e.Sequence, head) })
		if err != nil {
			return nil, err
		}
		return keep, s.apply(tx, c, parts)
	})
}

// charge computes the charge for a release. If the release is not allowed, it returns an error.
func (s *Store) charge(study Hash, r Release) (*Charge, error) {
	if before, ok := s.chain.answered[answer{study, r.Ask}]; ok {
		return nil, &Refused{fmt.Sprintf("plan %d of this study was answered already (entry %d of the ledger): a plan is answered once", r.Ask, before)}
	}
	a, err := s.chain.account(r.Dataset)
	if err != nil {
		return nil, &Refused{err.Error()}
	}
	if before, ok := s.chain.names[r.Records]; ok && before != r.Dataset {
		return nil, &Refused{fmt.Sprintf("this file of records was charged to the data set %s: one file has one budget, so use that name instead of %s", before, r.Dataset)}
	}
	event, err := accountant.MarshalEvent(r.Event)
	if err != nil {
		return nil, err
	}
	p, err := a.price(r.Event)
	if err != nil {
		return nil, err
	}
	return &Charge{
		Study: study, Protocol: r.Protocol, Roster: r.Roster, Ask: r.Ask, View: r.View,
		Policy: r.Policy, Records: r.Records, Event: event,
		Cost: p.cost, Spent: p.after.Spent(), SpentDivergence: p.after.SpentDivergence(),
	}, nil
}

// Refused is the error for a change that is not allowed. It leaves the store unchanged.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "ledger: " + r.Reason }

// next returns an entry with the next number, the hash of the last entry, and the other fields
// that budgets and charges have in common.
func (s *Store) next(dataset string, now time.Time) Entry {
	sequence, head := s.chain.head()
	return Entry{
		Version: Version, Sequence: sequence + 1, Previous: head,
		Time: now.UTC().Truncate(time.Second), Program: s.program, Dataset: dataset,
	}
}

// put signs an entry and adds it to the transaction, after the same checks that a reader of the
// ledger makes. The function envelope returns the hash of the message that the entry pays for. The
// function keep applies the entry to the state in memory.
func (s *Store) put(tx *bbolt.Tx, e Entry, envelope func(head Hash) (Hash, error)) (keep func(), err error) {
	stamp, err := sign(s.holder, e, envelope)
	if err != nil {
		return nil, err
	}
	read, err := parseStamp(stamp.line, s.chain.holder)
	if err != nil {
		return nil, err
	}
	keep, err = s.chain.check(read)
	if err != nil {
		return nil, &Refused{err.Error()}
	}
	key := binary.BigEndian.AppendUint64(nil, e.Sequence)
	return keep, tx.Bucket(chainBucket).Put(key, stamp.line)
}

// update runs f in one transaction. After the commit, it calls keep to change the state in memory.
// If the file turns out to be damaged, the store accepts no more changes.
func (s *Store) update(name string, f func(tx *bbolt.Tx) (keep func(), err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	keep, err := s.commit(name, f)
	if err == nil {
		keep()
	} else if as := new(Damaged); errors.As(err, &as) {
		s.broken = err
	}
	return err
}

func (s *Store) commit(name string, f func(tx *bbolt.Tx) (keep func(), err error)) (keep func(), err error) {
	err = s.readable(func() error {
		tx, err := s.db.Begin(true)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		defer func() { _ = tx.Rollback() }() // does nothing after a commit
		if keep, err = f(tx); err != nil {
			return err
		}
		m, err := s.mark(tx)
		if err != nil {
			return err
		}
		if err = s.at(name + ": before the commit"); err == nil {
			err = tx.Commit()
		}
		if err == nil {
			err = s.at(name + ": after the commit")
		}
		if err == nil {
			err = s.anchor.append(m)
		}
		if err != nil {
			s.broken = fmt.Errorf("ledger: the last transaction may or may not be on disk (%w): restart the program, which will find out", err)
		}
		return s.broken
	})
	return keep, err
}

// at calls Boundary from the options. Only tests set it.
func (s *Store) at(point string) error {
	if s.boundary == nil {
		return nil
	}
	return s.boundary(point)
}
