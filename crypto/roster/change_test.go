package roster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
)

func next(t *testing.T, r *Roster, all []Entry) *Roster {
	t.Helper()
	n, err := r.Next(all)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func accepted(n *Roster, parties ...party) []Acceptance {
	var all []Acceptance
	for _, p := range parties {
		all = append(all, Accept(p.Identity, n))
	}
	return all
}

//abuse:case P10 a new roster comes into force when all clients that stay have accepted it
func TestChangesNeedConsent(t *testing.T) {
	parties := newParties(t)
	north, hub, east, south := parties[0], parties[1], parties[2], parties[3]
	r := newRoster(t, parties...)
	west := newParty(t, "west", identity.Client)
	renewed := entryOf(t, north.Identity, "north", identity.Client)
	// In the next version west joins, south leaves, and north has new keys for TLS and
	// encryption.
	n := next(t, r, []Entry{hub.entry, renewed, east.entry, west.entry})
	if n.Version != 2 || n.Previous != r.Hash() {
		t.Errorf("version %d after %x", n.Version, n.Previous)
	}
	c, err := r.Compare(n)
	if err != nil || len(c.Joined) != 1 || len(c.Left) != 1 || len(c.Renewed) != 1 ||
		c.Joined[0].Name != "west" || c.Left[0].Name != "south" || c.Renewed[0].Name != "north" {
		t.Errorf("%v, %v", c, err)
	}
	for name, tc := range map[string]struct {
		acceptances []Acceptance
		want        string
	}{
		"all that stay":               {accepted(n, north, east), ""},
		"and one that leaves":         {accepted(n, north, east, south), ""},
		"and the coordinator":         {accepted(n, north, east, hub), ""},
		"one is missing":              {accepted(n, north), "waits for the consent of east"},
		"no acceptance":               {nil, "waits for the consent of east"},
		"one accepts twice":           {accepted(n, north, north), ErrAcceptance.Error()},
		"one accepts another version": {append(accepted(r, north), accepted(n, east)...), ErrAcceptance.Error()},
		"the new party":               {accepted(n, north, west), ErrAcceptance.Error()},
		"in the name of another":      {[]Acceptance{accepted(n, north)[0], {east.Fingerprint(), Accept(west.Identity, n).Signature}}, ErrAcceptance.Error()},
	} {
		err := r.InForce(n, tc.acceptances)
		if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyTheNextVersionMayFollow(t *testing.T) {
	parties := newParties(t)
	r := newRoster(t, parties...)
	good := next(t, r, entries(parties...))
	if c, err := r.Compare(good); err != nil || len(c.Joined)+len(c.Left)+len(c.Renewed) != 0 {
		t.Errorf("%v, %v", c, err)
	}
	third := next(t, good, entries(parties...))
	other := newRoster(t, parties[:3]...)
	for name, n := range map[string]*Roster{
		"itself":               r,
		"a version left out":   third,
		"after another roster": next(t, other, entries(parties...)),
	} {
		if _, err := r.Compare(n); !errors.Is(err, ErrSuccession) {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.InForce(n, accepted(n, parties...)); !errors.Is(err, ErrSuccession) {
			t.Errorf("%s: %v", name, err)
		}
	}
	skipped := *good
	skipped.Version = 3
	if _, err := r.Compare(&skipped); !errors.Is(err, ErrSuccession) {
		t.Errorf("a skipped version number: %v", err)
	}
	foreign := *good
	foreign.Study = Hash{9}
	if _, err := r.Compare(&foreign); !errors.Is(err, ErrSuccession) {
		t.Errorf("another study: %v", err)
	}
	usurper := slices.Clone(parties)
	usurper[1] = newParty(t, "hub", identity.Coordinator)
	if _, err := r.Compare(next(t, r, entries(usurper...))); !errors.Is(err, ErrCoordinator) {
		t.Errorf("another coordinator: %v", err)
	}
}
