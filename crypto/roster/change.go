package roster

import (
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
)

// Reasons to refuse a next version.
var (
	ErrSuccession = errors.New("not the version after this roster: the study, the version or the hash of the one before is another")
	// ErrCoordinator says that a study does not change hands.
	ErrCoordinator = errors.New("a roster with another coordinator: a study keeps the one that its parties joined")
	ErrAcceptance  = errors.New("an acceptance that is not of a party of the roster before, or whose signature is wrong, or that is there twice")
)

// A Change is what the next version of a roster does, for a party to judge.
type Change struct {
	Joined  []Entry // with a key that was not there
	Left    []Entry // with a key that is not there any more
	Renewed []Entry // with the same key, and another name, pin or recipient
}

// Compare returns what next changes, if it is the version after r with the same
// coordinator.
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

// An Acceptance is the consent of a party to a version of the roster.
type Acceptance struct {
	Party     identity.Fingerprint
	Signature [identity.SignatureSize]byte
}

// Accept consents to next. Who signs has looked at what Compare returns.
func Accept(signer *identity.Identity, next *Roster) Acceptance {
	hash := next.Hash()
	return Acceptance{signer.Fingerprint(), signer.Sign(acceptDomain, hash[:])}
}

// InForce reports whether next may take the place of r: it is the version after, and
// every party of r that is still in it has accepted. The coordinator accepts by signing.
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
			return fmt.Errorf("the roster of version %d waits for the consent of %s", next.Version, e.Name)
		}
	}
	return nil
}
