package roster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/internal/testing/memory"
)

// renewal returns a renewal of p's entry with new TLS and encryption keys but the same identity.
func renewal(t testing.TB, p party) Renewal {
	t.Helper()
	return Renew(p.Identity, study, p.entry, entryOf(t, p.Identity, string(p.entry.Name), p.entry.Role))
}

// rotated gives a party a new identity and new keys. It returns the party with its new keys, and
// the renewal, which is signed by p's identity.
func rotated(t testing.TB, p party) (party, Renewal) {
	t.Helper()
	after := newParty(t, string(p.entry.Name), p.entry.Role)
	return after, Renew(p.Identity, study, p.entry, after.entry)
}

func apply(t testing.TB, r *Roster, c Change) *Roster {
	t.Helper()
	next, err := r.Apply(c)
	check(t, err)
	return next
}

//abuse:case P10 the next version of a roster has the parties of the version before, with keys that their holders have signed
func TestChangeOfARoster(t *testing.T) {
	parties := newParties(t)
	north, hub, east := parties[0], parties[1], parties[2]
	r := newRoster(t, parties...)
	newEast, eastRenewal := rotated(t, east)
	newHub, hubRenewal := rotated(t, hub)
	change := Change{[]Renewal{eastRenewal, hubRenewal, renewal(t, north)}, []Revocation{{"south", "its keys were stolen"}}}
	parsed, err := ParseChange(change.Bytes())
	if err != nil || !bytes.Equal(parsed.Bytes(), change.Bytes()) {
		t.Fatalf("the change was not read: %v", err)
	}
	n := apply(t, r, parsed)
	if n.Version != 2 || n.Previous != r.Hash() || len(n.Entries) != len(r.Entries) {
		t.Errorf("version %d after %x with %d parties", n.Version, n.Previous, len(n.Entries))
	}
	if n.Coordinator().Key != newHub.Public() {
		t.Error("the coordinator has its old identity")
	}
	if e, _ := n.Named("east"); e.Key != newEast.Public() {
		t.Error("east has its old identity")
	}
	if e, _ := n.Named("north"); e.Key != north.Public() || e.Pin == north.entry.Pin {
		t.Error("north does not have its identity and a new TLS key")
	}
	if !n.Valid("north") || n.Valid("south") || n.Valid("hub") || n.Valid("west") {
		t.Errorf("the revoked parties are %v", n.Revoked)
	}
	got, err := Parse(n.Bytes(), study)
	if err != nil || got.Hash() != n.Hash() || !slices.Equal(got.Revoked, n.Revoked) {
		t.Errorf("the next version was not read: %v", err)
	}
}

// The test tries changes with another party's keys, with keys that were replaced, for another
// study, and for a party whose keys were revoked.
//
//abuse:case P10 a stolen identity that was replaced makes no further keys, and no party joins a roster
func TestInvalidChangesAreRefused(t *testing.T) {
	parties := newParties(t)
	north, hub, east, south := parties[0], parties[1], parties[2], parties[3]
	r := newRoster(t, parties...)
	newEast, once := rotated(t, east)
	second := apply(t, apply(t, r, Change{Renewed: []Renewal{once}}), Change{Revoked: []Revocation{{"south", "stolen"}}})
	_, twice := rotated(t, newEast)
	_, thief := rotated(t, party{east.Identity, newEast.entry})
	_, forged := rotated(t, party{north.Identity, newEast.entry})
	foreign := Renew(newEast.Identity, Hash{9}, newEast.entry, entryOf(t, newEast.Identity, "east", identity.Client))
	unsigned := twice
	unsigned.Entry.Pin[0] ^= 1
	renamed := Renew(north.Identity, study, north.entry, entryOf(t, north.Identity, "west", identity.Client))
	promoted := Renew(north.Identity, study, north.entry, entryOf(t, north.Identity, "north", identity.Coordinator))
	copied := Renew(north.Identity, study, north.entry, signedEntry(t, north.Identity, study, "north", identity.Client, newEast.entry.Pin, north.entry.Recipient))
	for name, tc := range map[string]struct {
		change Change
		want   string
	}{
		"nothing":                              {Change{}, ErrChange.Error()},
		"a renewal again":                      {Change{Renewed: []Renewal{once}}, ErrConsent.Error()},
		"an identity that was replaced":        {Change{Renewed: []Renewal{thief}}, ErrConsent.Error()},
		"the identity of another":              {Change{Renewed: []Renewal{forged}}, ErrConsent.Error()},
		"another study":                        {Change{Renewed: []Renewal{foreign}}, ErrConsent.Error()},
		"a changed entry":                      {Change{Renewed: []Renewal{unsigned}}, ErrConsent.Error()},
		"another name":                         {Change{Renewed: []Renewal{renamed}}, ErrChange.Error()},
		"another role":                         {Change{Renewed: []Renewal{promoted}}, ErrParty.Error()},
		"a key of another party":               {Change{Renewed: []Renewal{copied}}, "a key of another party"},
		"one party twice":                      {Change{Renewed: []Renewal{twice, twice}}, ErrChange.Error()},
		"renewed and revoked":                  {Change{Renewed: []Renewal{twice}, Revoked: []Revocation{{"east", ""}}}, ErrChange.Error()},
		"out of order":                         {Change{Renewed: []Renewal{renewal(t, north), twice}}, ErrChange.Error()},
		"the coordinator revoked":              {Change{Revoked: []Revocation{{"hub", ""}}}, ErrChange.Error()},
		"a stranger revoked":                   {Change{Revoked: []Revocation{{"west", ""}}}, ErrChange.Error()},
		"revoked again":                        {Change{Revoked: []Revocation{{"south", ""}}}, ErrChange.Error()},
		"new keys after a revocation":          {Change{Renewed: []Renewal{renewal(t, south)}}, ErrChange.Error()},
		"the coordinator with another's right": {Change{Renewed: []Renewal{Renew(north.Identity, study, hub.entry, newParty(t, "hub", identity.Coordinator).entry)}}, ErrConsent.Error()},
	} {
		if _, err := second.Apply(tc.change); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := second.Apply(Change{Renewed: []Renewal{twice}}); err != nil {
		t.Errorf("the next renewal of east: %v", err)
	}
}

func TestLatestEntryOfAChain(t *testing.T) {
	hub := newParty(t, "hub", identity.Coordinator)
	second, one := rotated(t, hub)
	third, two := rotated(t, second)
	e, err := Latest(study, hub.entry, [][]byte{one.Bytes(), two.Bytes()})
	if err != nil || !sameEntry(e, third.entry) {
		t.Error(err)
	}
	if e, err := Latest(study, hub.entry, nil); err != nil || !sameEntry(e, hub.entry) {
		t.Error(err)
	}
	for name, chain := range map[string][][]byte{
		"a link left out": {two.Bytes()}, "in another order": {two.Bytes(), one.Bytes()}, "a link twice": {one.Bytes(), one.Bytes()},
		"cut short": {one.Bytes()[:100]},
	} {
		if _, err := Latest(study, hub.entry, chain); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Latest(Hash{9}, hub.entry, [][]byte{one.Bytes()}); err == nil {
		t.Error("a chain of another study was accepted")
	}
}

func TestRevokedPartiesOfARoster(t *testing.T) {
	r := newRoster(t, newParties(t)...)
	for name, revoked := range map[string][]identity.Name{
		"a stranger": {"west"}, "the coordinator": {"hub"}, "twice": {"north", "north"}, "out of order": {"south", "north"},
	} {
		bad := *r
		bad.Revoked = revoked
		if _, err := Parse(bad.Bytes(), study); err == nil {
			t.Errorf("%s was revoked", name)
		}
	}
	empty := append([]byte(magicRevoked), r.Bytes()[len(magic):]...)
	for _, b := range [][]byte{empty, append(bytes.Clone(empty), 0, 0)} {
		if _, err := Parse(b, study); !errors.Is(err, ErrForm) {
			t.Errorf("the second form without revoked parties: %v", err)
		}
	}
}

func FuzzParseChange(f *testing.F) {
	p := newParty(f, "north", identity.Client)
	_, r := rotated(f, p)
	f.Add(Change{[]Renewal{r}, []Revocation{{"south", "stolen"}}}.Bytes())
	f.Add(Change{}.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Change
		var err error
		memory.Bound(t, len(b), func() { c, err = ParseChange(b) })
		if err == nil && !bytes.Equal(c.Bytes(), b) {
			t.Error("one change has two encodings")
		}
	})
}

// The bytes are put together by hand, following the documentation. The signature is checked with
// crypto/ed25519.
func TestFormatOfAChange(t *testing.T) {
	parties := newParties(t)
	east := parties[2]
	newEast, renewal := rotated(t, east)
	lp := func(s string) []byte { return append([]byte{0, 0, 0, byte(len(s))}, s...) }

	before := sha256.Sum256(east.entry.Bytes())
	statement := slices.Concat(study[:], before[:], newEast.entry.Bytes())
	digest := sha256.Sum256(statement)
	key := east.Public()
	if !ed25519.Verify(key[:], append([]byte("fedpvi/v1/renewal\x00"), digest[:]...), renewal.Consent[:]) {
		t.Error("the identity before did not sign the study, the hash of its entry, and the next entry")
	}
	c := Change{[]Renewal{renewal}, []Revocation{{"south", "stolen"}}}
	want := slices.Concat([]byte("FPRC\x00\x01"), newEast.entry.Bytes(), renewal.Consent[:], []byte{0, 1}, lp("south"), lp("stolen"))
	if !bytes.Equal(c.Bytes(), want) {
		t.Error("the format of a change differs")
	}
	r := newRoster(t, parties...)
	n := apply(t, r, c)
	previous := r.Hash()
	want = slices.Concat([]byte("FPR2"), study[:], []byte{0, 0, 0, 0, 0, 0, 0, 2}, previous[:], []byte{0, 4})
	for _, p := range []party{newEast, parties[1], parties[0], parties[3]} { // sorted by name
		want = append(want, p.entry.Bytes()...)
	}
	want = slices.Concat(want, []byte{0, 1}, lp("south"))
	if !bytes.Equal(n.Bytes(), want) {
		t.Error("the format of a roster with a revoked party differs")
	}
	e := newEast.entry
	key, pin := e.Key, e.Pin
	signed := e.Signature
	want = slices.Concat(lp("east"), []byte{1}, key[:], pin[:], []byte(e.Recipient.String()), signed[:])
	if !bytes.Equal(e.Bytes(), want) || len(e.Recipient.String()) != 1959 || !strings.HasPrefix(e.Recipient.String(), "age1pq1") {
		t.Error("the format of an entry differs")
	}
}
