package transcript

import (
	"errors"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
)

// renews gives new keys to the party with the given name. It returns the new identity, and a
// renewal that is signed by the previous identity, before.
func renews(t *testing.T, c Chain, name identity.Name, before *identity.Identity) (*identity.Identity, roster.Renewal) {
	t.Helper()
	key, err := seal.Generate()
	check(t, err)
	after, err := identity.Generate()
	check(t, err)
	old, _ := c.Members().Named(name)
	e, err := roster.NewEntry(after, study, name, old.Role, identity.Pin(after.Fingerprint()), key.Recipient())
	check(t, err)
	return after, roster.Renew(before, study, old, e)
}

// The coordinator and a client get new keys, and then the client's keys are revoked. Signatures
// with old keys must be refused, it must not be possible to leave out or repeat a version, and an
// export must have the same entries.
//
//abuse:case P10 after a new version of the roster the keys before it sign nothing, and no version is left out
func TestVersionsOfTheRoster(t *testing.T) {
	f := newFederation(t)
	begun := f.begin()
	envelope, body, err := begun.Open(f.hub, f.members, filled(1), filled(2), true, true)
	check(t, err)
	envelopes := [][]byte{envelope}
	begun, _, err = begun.Follow(envelope, body)
	check(t, err)
	next := func(c Chain, signer *identity.Identity, change roster.Change) (Chain, item) {
		envelope, body, err := c.Change(signer, change, filled(2))
		check(t, err)
		after, e, err := c.Follow(envelope, body)
		check(t, err)
		if e.Kind != Roster || e.Ask != 0 || after.Members().Version != c.Members().Version+1 {
			t.Errorf("entry %+v", e)
		}
		envelopes = append(envelopes, envelope)
		return after, item{envelope, body}
	}
	newHub, hubRenewal := renews(t, begun, "hub", f.hub)
	newNorth, northRenewal := renews(t, begun, "north", f.north)
	second, one := next(begun, f.hub, roster.Change{Renewed: []roster.Renewal{hubRenewal, northRenewal}})
	if second.Coordinator() != newHub.Public() || second.Protocol() != begun.Protocol() || !second.Commits() || !second.Fetches() {
		t.Error("the coordinator's identity or the protocol is wrong after the change")
	}
	third, two := next(second, newHub, roster.Change{Revoked: []roster.Revocation{{Name: "north", Reason: "stolen"}}})
	if third.Members().Valid("north") {
		t.Error("the keys of north are valid")
	}
	plan, err := third.Sign(f.hub, "plan", 1, filled(2), nil)
	check(t, err)
	if _, _, err := third.Follow(plan, nil); !errors.Is(err, signed.ErrSender) {
		t.Errorf("a plan with the old identity: %v", err)
	}
	if _, _, err := begun.Follow(two.envelope, two.body); !errors.Is(err, signed.ErrSender) {
		t.Errorf("a version left out: %v", err)
	}
	if _, _, err := second.Follow(one.envelope, one.body); !errors.Is(err, signed.ErrSender) {
		t.Errorf("a version again: %v", err)
	}
	if _, _, err := second.Change(newHub, roster.Change{Renewed: []roster.Renewal{northRenewal}}, filled(2)); !errors.Is(err, roster.ErrConsent) {
		t.Errorf("a renewal again: %v", err)
	}
	if _, err := second.Sign(newHub, Roster, 0, filled(2), nil); !errors.Is(err, ErrKind) {
		t.Errorf("a change without its check: %v", err)
	}
	forged := Entry{Kind: Roster, Number: 3, Previous: BodyOf(envelopes[1]).Hash, Body: BodyOf(two.body)}
	header := second.Header(signed.Roster, 0, filled(2)) // the header has the hash of the roster before the change
	unchanged, err := signed.Sign(newHub, header, forged.payload())
	check(t, err)
	if _, _, err := second.Follow(unchanged, two.body); !errors.Is(err, ErrRoster) {
		t.Errorf("a version other than its header: %v", err)
	}
	release := third.ReleaseHeader(1, filled(2), newNorth.Fingerprint(), 1, filled(3))
	for name, signer := range map[string]*identity.Identity{"before": f.north, "after": newNorth} {
		envelope, err := SignRelease(signer, release, nil, filled(4))
		check(t, err)
		own, _ := third.Members().Named("north")
		if _, err := third.VerifyRelease(envelope, own.Key, 1, filled(2)); (err == nil) != (name == "after") {
			t.Errorf("an answer with the identity %s the change: %v", name, err)
		}
		if _, err := begun.VerifyRelease(envelope, signer.Public(), 1, filled(2)); err == nil {
			t.Errorf("an answer of the third version was accepted in the first")
		}
	}
	stored := begun.With(third.Members()).At(third.Position())
	if stored.Coordinator() != third.Coordinator() || stored.Header(signed.Plan, 1, filled(2)) != third.Header(signed.Plan, 1, filled(2)) {
		t.Error("a chain with a stored version is another one")
	}
	x := &Export{Client: "north", Coordinator: f.members.Coordinator().Bytes(), Renewals: [][]byte{hubRenewal.Bytes()}, Envelopes: envelopes}
	all, err := x.Entries(study, f.hub.Fingerprint())
	if err != nil || len(all) != 3 {
		t.Errorf("the export has %d entries, %v", len(all), err)
	}
	x.Renewals = nil
	if _, err := x.Entries(study, f.hub.Fingerprint()); !errors.Is(err, signed.ErrSender) {
		t.Errorf("the export without the coordinator's renewal: %v", err)
	}
}
