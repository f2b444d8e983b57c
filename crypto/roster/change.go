package roster

import (
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
)

// Errors of Compare and InForce if a roster cannot be the next version of another roster.
var (
	ErrSuccession = errors.New("not the next version of the roster: its study, version or previous hash is wrong")
	// ErrCoordinator is returned if the coordinator differs, because the coordinator of a study
	// never changes.
	ErrCoordinator = errors.New("the roster names another coordinator: the coordinator of a study cannot change")
	ErrAcceptance  = errors.New("an acceptance of the roster is invalid: it is not from a party of the previous version, its signature is wrong, or it is there twice")
)

// A Change lists the differences between a roster and its next version, for a party that must
// decide whether to accept the next version.
type Change struct {
	Joined  []Entry // entries with new keys
	Left    []Entry // entries of parties that are not in the next version
	Renewed []Entry // entries with the same identity, but another name, role, pin or recipient
}

// Compare returns the changes from r to next. It returns an error if next is not the
// version after r or has another coordinator.
func (r *Roster) Compare(next *Roster) (Change, error) {
	if next.Study != r.Study || next.Version != r.Version+1 || next.Previous != r.Hash() {
		return Change{}, ErrSuccession
	}
	if next.Coordinator().Key != r.Coordinator().Key {
		return Change{}, ErrCoordinator
	}
	var c Change
	for _, e := range next.Entries {
		before, ok := r.Find(e.Key.Fingerprint())
		switch {
		case !ok:
			c.Joined = append(c.Joined, e)
		case string(before.appendUnsigned(nil)) != string(e.appendUnsigned(nil)):
			c.Renewed = append(c.Renewed, e)
		}
	}
	for _, e := range r.Entries {
		if _, ok := next.Find(e.Key.Fingerprint()); !ok {
			c.Left = append(c.Left, e)
		}
	}
	return c, nil
}

// An Acceptance is a party's consent to a version of the roster.
type Acceptance struct {
	Party     identity.Fingerprint
	Signature [identity.SignatureSize]byte
}

// Accept returns the signer's signed consent to next. The signer should first examine the
// changes that Compare returns.
func Accept(signer *identity.Identity, next *Roster) Acceptance {
	hash := next.Hash()
	return Acceptance{signer.Fingerprint(), signer.Sign(acceptDomain, hash[:])}
}

// InForce returns nil if next may replace r. This requires that next is the version after r, and
// that every client in both versions has accepted next. The coordinator accepts it by signing
// the roster.
func (r *Roster) InForce(next *Roster, acceptances []Acceptance) error {
	if _, err := r.Compare(next); err != nil {
		return err
	}
	hash := next.Hash()
	accepted := map[identity.Fingerprint]bool{}
	for _, a := range acceptances {
		party, ok := r.Find(a.Party)
		if !ok || accepted[a.Party] || !party.Key.Verify(acceptDomain, hash[:], a.Signature) {
			return ErrAcceptance
		}
		accepted[a.Party] = true
	}
	for _, e := range r.Entries {
		_, stays := next.Find(e.Key.Fingerprint())
		if e.Role == identity.Client && stays && !accepted[e.Key.Fingerprint()] {
			return fmt.Errorf("version %d of the roster waits for the consent of %s", next.Version, e.Name)
		}
	}
	return nil
}
