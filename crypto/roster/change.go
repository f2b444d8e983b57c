package roster

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

// These are the errors for an invalid change to the roster.
var (
	// ErrConsent is returned for a renewal that the holder of the previous keys has not signed.
	ErrConsent = errors.New("the new keys of a party are not signed with its previous identity")
	// ErrParty is returned for a renewal that would change the party's name or role.
	ErrParty = errors.New("new keys cannot change the name or the role of a party")
	// ErrChange is returned for a change that does not fit the roster.
	ErrChange = errors.New("the change does not fit the roster: it is empty, names a party twice, out of order or of another study, or renews or revokes a party whose keys were revoked")
)

// A Renewal replaces keys of a party: its identity, its TLS key, its key for encrypted messages, or
// several of them. The previous identity signs the new entry and the hash of the previous entry, so
// that a renewal is valid only for one entry. A party's renewals form a chain that starts at its
// entry in the first roster.
type Renewal struct {
	Entry   Entry                        // new entry, signed with the identity in it
	Consent [identity.SignatureSize]byte // signature with the identity in the previous entry
}

// Renew returns a renewal that replaces a party's present entry, before, by next. The signer must
// be the identity in before.
func Renew(signer *identity.Identity, study Hash, before, next Entry) Renewal {
	return Renewal{next, signer.Sign(renewDomain, renewed(study, before, next))}
}

func renewed(study Hash, before, next Entry) []byte {
	hash := sha256.Sum256(before.Bytes())
	return append(append(append([]byte(nil), study[:]...), hash[:]...), next.Bytes()...)
}

// Check returns an error unless r is a valid renewal for before.
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

// ParseRenewal decodes the output of Bytes, and checks the signature in the new entry. The caller
// must call [Renewal.Check] to check the previous identity's signature.
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

// Latest applies renewals to a party's first entry and returns its present entry. The renewals are
// in order, in the encoding of [Renewal.Bytes]. If one is not valid, Latest returns an error.
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

// A Revocation declares that a client's keys are no longer valid. The client stays in the roster,
// so that the number of clients remains the same, but counts as missing in all later plans.
type Revocation struct {
	Name   identity.Name
	Reason string // one line, which all clients will see
}

// A Change turns one version of the roster into the next. It replaces keys of parties and revokes
// keys of clients. It cannot add a party.
type Change struct {
	Renewed []Renewal    // sorted by name
	Revoked []Revocation // sorted by name
}

// MaxReason is the maximum length of the reason for a revocation, in bytes.
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

// ParseChange decodes the output of Bytes. It does not check the change, but [Roster.Apply] does.
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

// Apply returns the next version of the roster, in which the change is made. Each renewal must be
// valid for the party's entry in r.
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
