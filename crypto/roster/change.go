package roster

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

// These are the errors for an invalid change of the roster.
var (
	// ErrConsent is returned for a renewal that is not signed by the holder of the previous keys.
	ErrConsent = errors.New("the new keys of a party are not signed with its previous identity")
	// ErrParty is returned for a renewal that does not keep the name and the role of the party.
	ErrParty = errors.New("new keys cannot change the name or the role of a party")
	// ErrChange is returned for a change that cannot be applied to a roster.
	ErrChange = errors.New("the change does not fit the roster: it is empty, names a party twice, out of order or of another study, or renews or revokes a party whose keys were revoked")
)

// A Renewal replaces keys of a party: its identity, its TLS key, its key for encrypted messages, or
// several of them. The previous identity signs the new entry together with the hash of the previous
// one, so a renewal is valid for one entry only. The renewals of a party form a chain from its
// entry in the first roster.
type Renewal struct {
	Entry   Entry                        // new entry, which the identity in this entry has signed
	Consent [identity.SignatureSize]byte // signature by the identity in the previous entry
}

// Renew returns the renewal of a party's present entry, before, to next. The signer must be the
// identity in before.
func Renew(signer *identity.Identity, study Hash, before, next Entry) Renewal {
	return Renewal{next, signer.Sign(renewDomain, renewed(study, before, next))}
}

func renewed(study Hash, before, next Entry) []byte {
	hash := sha256.Sum256(before.Bytes())
	return append(append(append([]byte(nil), study[:]...), hash[:]...), next.Bytes()...)
}

// Check returns an error unless r is a valid renewal of before.
func (r Renewal) Check(study Hash, before Entry) error {
	if r.Entry.Name != before.Name || r.Entry.Role != before.Role {
		return ErrParty
	}
	if !before.Key.Verify(renewDomain, renewed(study, before, r.Entry), r.Consent) {
		return ErrConsent
	}
	return r.Entry.Check(study)
}

// Bytes returns the encoding of the renewal.
func (r Renewal) Bytes() []byte { return append(r.Entry.Bytes(), r.Consent[:]...) }

// ParseRenewal decodes a renewal that Bytes encoded, and checks the signature in the new entry. The
// caller must check that of the previous identity with [Renewal.Check].
func ParseRenewal(b []byte, study Hash) (Renewal, error) {
	r := wire.NewReader(b)
	out := readRenewal(r)
	if !r.Done() {
		return Renewal{}, ErrForm
	}
	return out, out.Entry.Check(study)
}

func readRenewal(r *wire.Reader) (out Renewal) {
	out.Entry = readEntry(r)
	r.Fixed(out.Consent[:])
	return out
}

// Latest applies a party's renewals, in order and each encoded by [Renewal.Bytes], to its first
// entry, and returns its present one. It fails if a renewal is not valid.
func Latest(study Hash, first Entry, renewals [][]byte) (Entry, error) {
	for _, b := range renewals {
		r, err := ParseRenewal(b, study)
		if err == nil {
			err = r.Check(study, first)
		}
		if err != nil {
			return Entry{}, err
		}
		first = r.Entry
	}
	return first, nil
}

// A Revocation states that the keys of a client are no longer valid. The client stays in the
// roster, so that the number of clients does not change, and counts as missing in all later plans.
type Revocation struct {
	Name   identity.Name
	Reason string // one line, which all clients can read
}

// A Change turns a version of the roster into the next: it replaces keys of parties and revokes
// keys of clients. It cannot add a party.
type Change struct {
	Renewed []Renewal    // sorted by name
	Revoked []Revocation // sorted by name
}

// MaxReason is the maximum length in bytes of the reason for a revocation.
const MaxReason = 400

const changeMagic = "FPRC"

// Bytes returns the encoding of the change.
func (c Change) Bytes() []byte {
	b := wire.AppendUint16([]byte(changeMagic), uint16(len(c.Renewed)))
	for _, r := range c.Renewed {
		b = append(b, r.Bytes()...)
	}
	b = wire.AppendUint16(b, uint16(len(c.Revoked)))
	for _, r := range c.Revoked {
		b = wire.AppendBytes(wire.AppendBytes(b, string(r.Name)), r.Reason)
	}
	return b
}

// ParseChange decodes a change that Bytes encoded. [Roster.Apply] checks it.
func ParseChange(b []byte) (Change, error) {
	r := wire.NewReader(b)
	var c Change
	if string(r.Take(len(changeMagic))) != changeMagic {
		return Change{}, ErrForm
	}
	for n := r.Uint16(); n > 0 && !r.Failed(); n-- {
		c.Renewed = append(c.Renewed, readRenewal(r))
	}
	for n := r.Uint16(); n > 0 && !r.Failed(); n-- {
		name := identity.Name(r.Bytes(identity.MaxName))
		c.Revoked = append(c.Revoked, Revocation{name, string(r.Bytes(MaxReason))})
	}
	if !r.Done() {
		return Change{}, ErrForm
	}
	return c, nil
}

// Apply returns the next version of the roster, after the change. Every renewal must be valid for
// the party's entry in r.
func (r *Roster) Apply(c Change) (*Roster, error) {
	next := Roster{Study: r.Study, Version: r.Version + 1, Previous: r.Hash(), Entries: slices.Clone(r.Entries), Revoked: slices.Clone(r.Revoked)}
	named := map[identity.Name]bool{}
	for _, name := range r.Revoked {
		named[name] = true
	}
	for i, renewal := range c.Renewed {
		name := renewal.Entry.Name
		at, ok := r.place(name)
		if !ok || named[name] || i > 0 && c.Renewed[i-1].Entry.Name >= name {
			return nil, ErrChange
		}
		if err := renewal.Check(r.Study, r.Entries[at]); err != nil {
			return nil, fmt.Errorf("the new keys of %s: %w", name, err)
		}
		named[name], next.Entries[at] = true, renewal.Entry
	}
	for i, revoked := range c.Revoked {
		e, ok := r.Named(revoked.Name)
		if !ok || e.Role != identity.Client || named[e.Name] || i > 0 && c.Revoked[i-1].Name >= e.Name {
			return nil, ErrChange
		}
		named[e.Name], next.Revoked = true, append(next.Revoked, e.Name)
	}
	if len(c.Renewed)+len(c.Revoked) == 0 {
		return nil, ErrChange
	}
	slices.Sort(next.Revoked)
	if err := next.check(); err != nil {
		return nil, err
	}
	return &next, nil
}
