package client

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/pvi"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// In all cases, north is the data holder. The expected numbers of clients that are not recognised
// were counted by hand.
//
//abuse:case A05 clients that the policy does not recognise count as the coordinator's own
func TestStrangersAndTheCharge(t *testing.T) {
	keys := map[identity.Name]identity.PublicKey{"north": {1}, "south": {2}, "east": {3}, "west": {4}}
	members := &roster.Roster{Entries: []roster.Entry{{Name: "coordinator", Role: identity.Coordinator, Key: identity.PublicKey{9}}}}
	for name, key := range keys {
		members.Entries = append(members.Entries, roster.Entry{Name: name, Role: identity.Client, Key: key})
	}
	for _, c := range []struct {
		recognised string // names of the clients that the policy recognises
		strangers  int
		views      [3]string // observers against whom the study is charged if 0, 1 or 2 clients may collude
	}{
		{"", 3, [3]string{"coordinator", "coordinator", "coordinator"}},
		{"south", 2, [3]string{"coordinator", "coordinator", "coalition"}},
		{"south east", 1, [3]string{"coordinator", "coalition", "coalition"}},
		{"north south east", 1, [3]string{"coordinator", "coalition", "coalition"}},
		{"south east west", 0, [3]string{"participant", "coalition", "coalition"}},
	} {
		var allowed []string
		for _, name := range strings.Fields(c.recognised) {
			allowed = append(allowed, fmt.Sprintf("%q", keys[identity.Name(name)].Fingerprint().String()))
		}
		p, err := ParsePolicy("policy.toml", []byte("version = 1\n[participants]\nrecognised = ["+strings.Join(allowed, ", ")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		strangers := len(p.strangers(members, "north"))
		if strangers != c.strangers {
			t.Errorf("%s: %d strangers, want %d", c.recognised, strangers, c.strangers)
		}
		for colluders, want := range c.views {
			st := &study.Study{Federation: study.Federation{Opens: study.OpenSums, Aggregation: study.Secure, Colluders: colluders}}
			all := phase.Roster{Clients: []pvi.ClientID{"east", "north", "south", "west"}, Fewest: 4, Colluders: colluders}
			if got := observer(st, p, all, strangers); got != want {
				t.Errorf("%s, t = %d: charged against %s, want %s", c.recognised, colluders, got, want)
			}
			st.Federation.Aggregation = study.ByCoordinator
			if got := observer(st, p, all, strangers); got != "coordinator" {
				t.Errorf("%s, t = %d, added up by the coordinator: charged against %s", c.recognised, colluders, got)
			}
		}
		if least := p.fewestStrangers(4); least > strangers {
			t.Errorf("%s: at least %d strangers were expected, and there are %d", c.recognised, least, strangers)
		}
	}
	if _, err := ParsePolicy("policy.toml", []byte("version = 1\n[participants]\nrecognised = [\"south\"]")); err == nil {
		t.Error("a name was accepted as a fingerprint")
	}
}
