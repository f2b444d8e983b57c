package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

var studies = []byte("studies")

// These are the buckets of a study. "By plan" means that the key has the plan number, and "by name"
// that it has the client's name.
const (
	about     = "about"     // the properties of the study that never change (type Fixed), and the notes
	tickets   = "tickets"   // tickets of invitations, by name
	entries   = "entries"   // signed roster entries of the clients, by name
	certs     = "certs"     // certificates of clients, by name
	approvals = "approvals" // envelopes of consents, by name
	leaves    = "leaves"    // envelopes of the messages by which clients leave the study, by name
	// envelope of each client's last message, by name; the header refers to an entry of the
	// client's ledger
	last      = "last"
	envelopes = "envelopes" // envelopes of the transcript's entries, by number
	bodies    = "bodies"    // bodies of the transcript's entries, by number
	asks      = "asks"      // number of the entry that has a plan, by plan number
	state     = "state"     // state of the study's algorithm
	offers    = "offers"    // envelopes of incomplete answers, by plan and name
	releases  = "releases"  // envelopes of accepted answers, by plan and name
	pieces    = "pieces"    // pieces of answers' bodies, by plan, name and offset
	evidence  = "evidence"  // envelopes that contradict earlier messages, by plan and name
	files     = "files"     // size and hash of each file, by the bucket and key of the value

	// published is not a bucket. In the bucket "files", the keys of releases that clients fetch
	// begin with it, followed by the plan and the name.
	published = "published"
)

var parts = []string{
	about, tickets, entries, certs, approvals, leaves, last, envelopes, bodies, asks, state,
	offers, releases, pieces, evidence, files,
}

// A Part is the part of a study's state that has one value per client.
type Part string

const (
	Entry    Part = entries
	Approval Part = approvals
	Leave    Part = leaves
	Last     Part = last
)

// A Hash is a SHA-256 hash.
type Hash = [32]byte

// Fixed contains the properties of a study that never change.
type Fixed struct {
	Document  []byte
	Name      string   // the coordinator's name in the study
	Addresses []string // the coordinator's addresses for clients
	Authority []byte   // first certificate of the study's authority (DER)
	Entry     []byte   // the coordinator's first roster entry
}

// ErrNoStudy is returned if the store does not have the study.
var ErrNoStudy = errors.New("the state directory has no such study")

// A Study gives access to one study inside a transaction.
type Study struct {
	tx     *Tx
	hash   Hash
	bucket *bbolt.Bucket
	dir    string // directory with the study's files
}

// Create adds a study. It returns an error if there is already one with this hash.
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
	s := tx.study(study, b)
	return s, s.putJSON(about, "fixed", f)
}

// Study returns the study with the given hash, or ErrNoStudy.
func (tx *Tx) Study(study Hash) (Study, error) {
	b := tx.tx.Bucket(studies).Bucket(study[:])
	if b == nil {
		return Study{}, ErrNoStudy
	}
	return tx.study(study, b), nil
}

// ViewStudy runs f on a study in a transaction of [Store.View].
func (s *Store) ViewStudy(study Hash, f func(Study) error) error {
	return s.View(func(tx *Tx) error { return tx.in(study, f) })
}

// UpdateStudy runs f on a study in a transaction of [Store.Update].
func (s *Store) UpdateStudy(study Hash, f func(Study) error) error {
	return s.Update(func(tx *Tx) error { return tx.in(study, f) })
}

func (tx *Tx) in(study Hash, f func(Study) error) error {
	kept, err := tx.Study(study)
	if err != nil {
		return err
	}
	return f(kept)
}

func (tx *Tx) study(hash Hash, b *bbolt.Bucket) Study {
	return Study{tx, hash, b, tx.store.folder(hash)}
}

// Studies returns the hashes of all studies in ascending order.
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

// Fixed returns the properties that were given to Create.
func (s Study) Fixed() (f Fixed, err error) { return f, s.getJSON(about, "fixed", &f) }

// PutNote stores a value under a key, as JSON.
func (s Study) PutNote(key string, value any) error { return s.putJSON(about, "note "+key, value) }

// Note decodes the JSON that PutNote stored under a key into value. If there is none, it leaves
// value unchanged.
func (s Study) Note(key string, value any) error { return s.getJSON(about, "note "+key, value) }

// Put stores a client's value in a part.
func (s Study) Put(p Part, client string, value []byte) error {
	return s.part(string(p)).Put([]byte(client), value)
}

// Delete removes a client's value from a part.
func (s Study) Delete(p Part, client string) error {
	return s.part(string(p)).Delete([]byte(client))
}

// All returns copies of all values in a part, keyed by client name.
func (s Study) All(p Part) (map[string][]byte, error) {
	all := map[string][]byte{}
	return all, s.part(string(p)).ForEach(func(k, v []byte) error {
		all[string(k)] = clone(v)
		return nil
	})
}

// PutTicket stores the ticket of an invitation. It replaces an earlier ticket for the same name.
func (s Study) PutTicket(name string, ticket any) error { return s.putJSON(tickets, name, ticket) }

// Tickets calls f with each ticket, sorted by name.
func (s Study) Tickets(f func(name string, decode func(ticket any) error) error) error {
	return s.part(tickets).ForEach(func(k, v []byte) error {
		return f(string(k), func(ticket any) error { return json.Unmarshal(v, ticket) })
	})
}

// stateNow is the key of the saved state. A store of format 3 may use a different key, which is the
// value under stateSlot.
var stateNow, stateSlot = []byte("now"), []byte("slot")

// PutState stores the state of the study's algorithm. It replaces the earlier state.
func (s Study) PutState(v *Value) error {
	// this also removes states that were stored under other keys by earlier formats
	if err := s.dropPrefix(state, nil); err != nil {
		return err
	}
	return s.put(state, stateNow, v)
}

// State returns a copy of the saved state, or nil if no state was saved.
func (s Study) State() ([]byte, error) {
	if slot := s.part(state).Get(stateSlot); slot != nil {
		return s.whole(state, clone(slot))
	}
	return s.whole(state, stateNow)
}

// clone returns a copy of b. The copy is nil only if b is.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
