package coordinator

import (
	"fmt"
	"slices"
	"testing"

	"fedpvi/internal/testing/auditlog"
)

// The audit log of a study with two clients must have exactly these lines and attributes. Any
// others could depend on the clients' records.
//
//abuse:case A17 the audit log of a study has its parties and verdicts alone
func TestAuditLogOfAStudy(t *testing.T) {
	log, lines := auditlog.New(t)
	_, parties := begun(t, Options{Audit: log}, planeText(clientPrivacy, "rounds = 3", ""), "north", "south")
	play(t, parties...)
	want := []string{"join north", "consent north", "join south", "consent south", "study began"}
	for plan := range 3 {
		want = append(want, fmt.Sprint("verdict ", plan+1, " accepted"))
	}
	want = append(want, "study ended")
	got := lines.Events("client", "state", "plan", "verdict")
	slices.Sort(want[:4])
	slices.Sort(got[:min(4, len(got))])
	if !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	permitted := []string{"study", "digest", "client", "fingerprint", "state", "clients", "plan", "verdict"}
	for _, l := range lines.All() {
		for _, a := range l.Attrs {
			if !slices.Contains(permitted, a.Key) {
				t.Errorf("%s has %v", l.Event, a)
			}
		}
	}
}

// The audit log must show new keys, new roster versions and clients that leave.
func TestAuditLogOfMembers(t *testing.T) {
	log, lines := auditlog.New(t)
	h, parties := begun(t, Options{Audit: log}, planeText(clientPrivacy, "rounds = 3", "min_clients = 2"), four...)
	once(t, parties...)
	check(t, parties[0].rotate(t.Context()))
	check(t, h.study.Rotate(t.Context()))
	check(t, h.study.Revoke(t.Context(), parties[3].peer.Name, "a laptop"))
	check(t, parties[2].leave(t.Context(), "the board said no"))
	play(t, parties[:2]...)
	all := lines.Events("client", "version", "reason")
	for _, want := range []string{"keys " + string(parties[0].peer.Name), "roster 2", "leave " + string(parties[2].peer.Name) + " the board said no"} {
		if !slices.Contains(all, want) {
			t.Errorf("no line is %q: %q", want, all)
		}
	}
}
