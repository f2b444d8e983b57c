package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

var studies = []byte("studies")

// The parts of a study, each a bucket.
const (
	about     = "about"     // Fixed
	tickets   = "tickets"   // by name
	entries   = "entries"   // of the roster, as the clients signed them, by name
	certs     = "certs"     // by name
	approvals = "approvals" // envelopes, by name
	leaves    = "leaves"    // envelopes, by name
	last      = "last"      // envelope of a client's last word on its ledger, by name
	envelopes = "envelopes" // of the transcript, by number
	bodies    = "bodies"    // of the transcript, by number
	asks      = "asks"      // the entry of a question's plan, by question
	state     = "state"     // of the phases
	offers    = "offers"    // envelopes of answers on their way, by question and name
	releases  = "releases"  // envelopes of answers taken, by question and name
	pieces    = "pieces"    // of the bodies of answers, by question, name and offset
	evidence  = "evidence"  // contradicting envelopes, by question and name
)

var parts = []string{
	about, tickets, entries, certs, approvals, leaves, last, envelopes, bodies, asks, state,
	offers, releases, pieces, evidence,
}

// The parts that have one value of bytes for each client.
type Part string

// What a client said, or was given.
const (
	Entry       Part = entries
	Certificate Part = certs
	Approval    Part = approvals
	Leave       Part = leaves
	Last        Part = last
)

// A Hash is a SHA-256.
type Hash = [32]byte

// Fixed is what does not change of a study once it is there.
type Fixed struct {
	Document    []byte
	Name        string   // of the coordinator in it
	Addresses   []string // where clients call
	Authority   []byte   // certificate (DER)
	Certificate []byte   // of the coordinator (DER)
	Entry       []byte   // of the coordinator in the roster
}

// ErrNoStudy says that a study is not in the store.
var ErrNoStudy = errors.New("no such study here")

// A Study is one study in a transaction.
type Study struct{ bucket *bbolt.Bucket }

// Create adds a study, which must not be there.
func (tx *Tx) Create(study Hash, f Fixed) (Study, error) {
	b, err := tx.tx.Bucket(studies).CreateBucket(study[:])
	if err != nil {
		return Study{}, fmt.Errorf("adding the study: %w", err)
	}
	for _, part := range parts {
		if _, err := b.CreateBucket([]byte(part)); err != nil {
			return Study{}, err
		}
	}
	s := Study{b}
	return s, s.putJSON(about, "fixed", f)
}

// Study returns a study, or ErrNoStudy.
func (tx *Tx) Study(study Hash) (Study, error) {
	b := tx.tx.Bucket(studies).Bucket(study[:])
	if b == nil {
		return Study{}, ErrNoStudy
	}
	return Study{b}, nil
}

// Studies returns the hashes of all studies, in order.
func (tx *Tx) Studies() (all []Hash, err error) {
	err = tx.tx.Bucket(studies).ForEachBucket(func(k []byte) error {
		if len(k) != len(Hash{}) {
			return fmt.Errorf("%w: the name of a study", ErrDamaged)
		}
		all = append(all, Hash(k))
		return nil
	})
	return all, err
}

func (s Study) part(name string) *bbolt.Bucket { return s.bucket.Bucket([]byte(name)) }

func (s Study) putJSON(part, key string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.part(part).Put([]byte(key), b)
}

func (s Study) getJSON(part, key string, value any) error {
	b := s.part(part).Get([]byte(key))
	if b == nil {
		return nil
	}
	if err := json.Unmarshal(b, value); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, part, err)
	}
	return nil
}

// Fixed returns what was given to Create.
func (s Study) Fixed() (f Fixed, err error) { return f, s.getJSON(about, "fixed", &f) }

// PutNote keeps a value that a coordinator notes under a key.
func (s Study) PutNote(key string, value any) error { return s.putJSON(about, "note "+key, value) }

// Note returns a noted value, and leaves it alone if there is none.
func (s Study) Note(key string, value any) error { return s.getJSON(about, "note "+key, value) }

// Put keeps a client's bytes.
func (s Study) Put(p Part, client string, value []byte) error {
	return s.part(string(p)).Put([]byte(client), value)
}

// All returns copies of all clients' bytes, by name.
func (s Study) All(p Part) (map[string][]byte, error) {
	all := map[string][]byte{}
	return all, s.part(string(p)).ForEach(func(k, v []byte) error {
		all[string(k)] = clone(v)
		return nil
	})
}

// PutTicket keeps the ticket of an invitation, in the place of one for the same name.
func (s Study) PutTicket(name string, ticket any) error { return s.putJSON(tickets, name, ticket) }

// Tickets hands each ticket to f, in order of name.
func (s Study) Tickets(f func(name string, decode func(ticket any) error) error) error {
	return s.part(tickets).ForEach(func(k, v []byte) error {
		return f(string(k), func(ticket any) error { return json.Unmarshal(v, ticket) })
	})
}

// The keys of the state of the phases: the state itself, if it is short or of format 2, or where it is, which one of
// two is. The other one is written for the next state.
var (
	stateNow   = []byte("now")
	stateSlot  = []byte("slot")
	stateSlots = [][]byte{[]byte("even"), []byte("odd")}
)

// PutState keeps the state of the phases.
func (s Study) PutState(v *Value) error {
	bucket := s.part(state)
	before := clone(bucket.Get(stateSlot))
	key := stateNow
	if v.Long() {
		key = v.key
		if err := bucket.Put(stateSlot, key); err != nil {
			return err
		}
	} else if err := bucket.Delete(stateSlot); err != nil {
		return err
	}
	for _, old := range [][]byte{stateNow, before} {
		if len(old) == 0 || bytes.Equal(old, key) {
			continue
		}
		if err := errors.Join(bucket.Delete(old), dropParts(bucket, old, 0)); err != nil {
			return err
		}
	}
	return s.name(state, key, v)
}

// stateKey returns the key of the state.
func (s Study) stateKey() []byte {
	if slot := s.part(state).Get(stateSlot); slot != nil {
		return clone(slot)
	}
	return stateNow
}

// otherSlot returns the slot in which the state is not.
func (s Study) otherSlot() []byte {
	if bytes.Equal(s.part(state).Get(stateSlot), stateSlots[0]) {
		return stateSlots[1]
	}
	return stateSlots[0]
}

// State returns a copy of the state of the phases; nil if there is none.
func (s Study) State() []byte { return s.long(state, s.stateKey()) }

// StateSlot returns where the state of the phases is, and its size, if it is long; nil if it is not.
func (s Study) StateSlot() (slot []byte, size int64) {
	slot = clone(s.part(state).Get(stateSlot))
	if slot == nil {
		return nil, 0
	}
	size, _ = s.length(state, slot)
	return slot, size
}

// ReadState fills b with a long state from an offset on, which must be in a slot still.
func (s Study) ReadState(slot, b []byte, from int64) error {
	if !bytes.Equal(s.part(state).Get(stateSlot), slot) {
		return errors.New("another state took the place of the one that is read")
	}
	if !s.readLong(state, slot, b, from) {
		return fmt.Errorf("%w: the state of the phases is shorter than it was", ErrDamaged)
	}
	return nil
}

// clone returns nil for nil, and never nil for what is there.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
