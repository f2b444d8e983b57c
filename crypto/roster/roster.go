package roster

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/seal"
)

// MaxParties is the maximum number of parties in a study, with the coordinator.
const MaxParties = 1024

const (
	magic = "FPR1"
	// magicRevoked is the beginning of an encoded roster with revoked clients. Their names come
	// after the entries.
	magicRevoked = "FPR2"
	// entrySize is the maximum size of an entry in bytes: the name and its length, the role, key,
	// pin, recipient and signature.
	entrySize = 4 + identity.MaxName + 1 + identity.PublicKeySize + 32 + seal.RecipientSize + identity.SignatureSize
	// MaxSize is the maximum size of an encoded roster in bytes.
	MaxSize = len(magic) + 32 + 8 + 32 + 2 + MaxParties*(entrySize+4+identity.MaxName) + 2
)

// ErrForm is returned for bytes that are not an encoded roster or entry. It does not depend on the
// bytes.
var ErrForm = errors.New("not the encoding of a roster: the bytes were changed, cut short, or written by another program")

// A Roster is one version of the list of parties, sorted by name.
type Roster struct {
	Study    Hash
	Version  uint64 // number of the version, from 1
	Previous Hash   // hash of the previous version; zero in the first version
	Entries  []Entry
	// Revoked lists the clients whose keys are no longer valid, in ascending order. They stay in
	// Entries.
	Revoked []identity.Name
}

// New returns the first version of a study's roster. The entries may be in any order.
func New(study Hash, entries []Entry) (*Roster, error) {
	r := Roster{Study: study, Version: 1}
	r.Entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

func (r *Roster) check() error {
	if n := len(r.Entries); n > MaxParties {
		return fmt.Errorf("a roster has %d parties, more than the limit of %d", n, MaxParties)
	}
	if r.Version == 0 || (r.Version == 1) != (r.Previous == Hash{}) {
		return errors.New("a roster has a version of at least 1, and names the hash of the previous version if that exists")
	}
	coordinators := 0
	for i, e := range r.Entries {
		if i > 0 && r.Entries[i-1].Name >= e.Name {
			return errors.New("the entries of a roster must be sorted by name, without duplicates")
		}
		if err := e.Check(r.Study); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if e.Role == identity.Coordinator {
			coordinators++
		}
	}
	if coordinators != 1 {
		return fmt.Errorf("a roster must have one coordinator, not %d", coordinators)
	}
	for i, name := range r.Revoked {
		if e, ok := r.Named(name); !ok || e.Role != identity.Client || i > 0 && r.Revoked[i-1] >= name {
			return errors.New("the revoked parties of a roster must be clients in it, sorted by name, without duplicates")
		}
	}
	return r.distinct()
}

// distinct returns an error if two entries have similar names or share a key. If one party had two
// entries, it would count twice.
func (r *Roster) distinct() error {
	names, keys, pins, recipients := map[string]bool{}, map[identity.PublicKey]bool{}, map[identity.Pin]bool{}, map[string]bool{}
	for i, e := range r.Entries {
		skeleton, recipient := e.Name.Skeleton(), e.Recipient.String()
		switch {
		case names[skeleton]:
			return fmt.Errorf("the name of entry %d looks like another name in the roster: choose a name that is easy to tell apart", i+1)
		case keys[e.Key], pins[e.Pin], recipients[recipient]:
			return fmt.Errorf("entry %d has a key of another party: every party must make its own keys", i+1)
		}
		names[skeleton], keys[e.Key], pins[e.Pin], recipients[recipient] = true, true, true, true
	}
	return nil
}

// Bytes returns the encoding of the roster, which the coordinator signs.
func (r *Roster) Bytes() []byte {
	b := append([]byte(magic), r.Study[:]...)
	if len(r.Revoked) > 0 {
		copy(b, magicRevoked)
	}
	b = append(wire.AppendUint64(b, r.Version), r.Previous[:]...)
	b = wire.AppendUint16(b, uint16(len(r.Entries)))
	for _, e := range r.Entries {
		b = append(b, e.Bytes()...)
	}
	if n := len(r.Revoked); n > 0 {
		b = wire.AppendUint16(b, uint16(n))
	}
	for _, name := range r.Revoked {
		b = wire.AppendBytes(b, string(name))
	}
	return b
}

// Hash returns the SHA-256 of Bytes, which identifies this version of the roster.
func (r *Roster) Hash() Hash { return sha256.Sum256(r.Bytes()) }

// Parse decodes and checks a study's roster. The coordinator signs the message that has the roster,
// not the roster itself.
func Parse(b []byte, study Hash) (*Roster, error) {
	if len(b) > MaxSize {
		return nil, ErrForm
	}
	rd := wire.NewReader(b)
	var r Roster
	form := string(rd.Take(len(magic)))
	if form != magic && form != magicRevoked {
		return nil, ErrForm
	}
	rd.Fixed(r.Study[:])
	r.Version = rd.Uint64()
	rd.Fixed(r.Previous[:])
	// Do not allocate in advance, because the number of entries may be false.
	for n := rd.Uint16(); n > 0 && !rd.Failed(); n-- {
		r.Entries = append(r.Entries, readEntry(rd))
	}
	if form == magicRevoked {
		for n := rd.Uint16(); n > 0 && !rd.Failed(); n-- {
			r.Revoked = append(r.Revoked, identity.Name(rd.Bytes(identity.MaxName)))
		}
		if len(r.Revoked) == 0 {
			return nil, ErrForm
		}
	}
	if !rd.Done() {
		return nil, ErrForm
	}
	if r.Study != study {
		return nil, errors.New("the roster belongs to another study")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// Coordinator returns the entry of the coordinator.
func (r *Roster) Coordinator() Entry {
	return r.Entries[slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Role == identity.Coordinator })]
}

// Named returns the entry of the party with the given name.
func (r *Roster) Named(name identity.Name) (Entry, bool) {
	i, ok := r.place(name)
	if !ok {
		return Entry{}, false
	}
	return r.Entries[i], true
}

func (r *Roster) place(name identity.Name) (int, bool) {
	return slices.BinarySearchFunc(r.Entries, name, func(e Entry, n identity.Name) int { return cmp.Compare(e.Name, n) })
}

// Valid reports whether the roster has a client with this name whose keys are still valid.
func (r *Roster) Valid(name identity.Name) bool {
	e, ok := r.Named(name)
	return ok && e.Role == identity.Client && !slices.Contains(r.Revoked, name)
}
