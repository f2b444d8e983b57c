package transport

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
)

func TestCallsArriveAsTheyWereMade(t *testing.T) {
	w := newWorld(t)
	north := w.dial(w.config("north"))
	party := channel.Party{Study: w.document, Role: identity.Client, Name: "north"}

	want := Renewed{[]byte("request"), []byte("authority"), []byte("signature"), [][]byte{[]byte("first"), []byte("second")}}
	for name, c := range map[string]*Client{"a guest": w.dial(w.guest()), "a party": north} {
		got, err := c.Renew(t.Context(), RenewRequest{[]byte("request"), []byte("first")})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s renewed %q, %v", name, got, err)
		}
		if peer := w.desk.peers["Renew"]; (peer == party) != (c == north) {
			t.Errorf("%s is %v", name, peer)
		}
		delete(w.desk.peers, "Renew")
	}
	check(t, north.Approve(t.Context(), []byte("consent")))
	w.desk.say([]byte("roster"))
	st, err := north.Standing(t.Context())
	if err != nil || st.Entries != 1 || !st.Approved || st.Last != nil {
		t.Errorf("standing %+v, %v", st, err)
	}
	got, err := north.Entry(t.Context(), 1)
	if err != nil || string(got.Body) != "roster" {
		t.Errorf("entry %q, %v", got.Body, err)
	}
	release := item(bytes.Repeat([]byte("a release "), 100_000))
	for range 2 { // sends the same release twice
		check(t, north.Submit(t.Context(), release))
	}
	if n := w.desk.taken(release); n != 1 {
		t.Errorf("a release was accepted %d times", n)
	}
	for method, peer := range w.desk.peers {
		if peer != party {
			t.Errorf("%s was called by %v", method, peer)
		}
	}
	health, err := healthpb.NewHealthClient(north.conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("healthy %v, %v", health, err)
	}
}

func TestGuestJoins(t *testing.T) {
	w := newWorld(t)
	guest := w.dial(w.guest())
	a, err := guest.Join(t.Context(), JoinRequest{Token: []byte("token"), Entry: []byte("entry"), Request: []byte("request")})
	if err != nil || string(a.Study) != "study" || string(a.Coordinator) != "entry" || string(a.Certificate) != "request" || string(a.Authority) != "authority" {
		t.Errorf("admitted with %+v, %v", a, err)
	}
	_, err = guest.Join(t.Context(), JoinRequest{Token: []byte("guessed"), Entry: []byte("entry"), Request: []byte("request")})
	wantRefusal(t, err, Denied)
}

// If the coordinator has an internal error, the client must learn nothing but a random number,
// which the log has too.
//
//abuse:case P20 a peer learns only a number
func TestInternalErrorIsReportedAsAnIncident(t *testing.T) {
	var log bytes.Buffer
	w := newWorldWith(t, ServerConfig{Log: logTo(&log)}, ours)
	north := w.dial(w.config("north"))
	w.desk.err = errors.New("disk /dev/secret is full")
	err := north.Approve(t.Context(), []byte("consent"))
	if err == nil || strings.Contains(err.Error(), "disk") {
		t.Fatalf("the error at the client is: %v", err)
	}
	_, incident, ok := strings.Cut(err.Error(), "incident ")
	if !ok || !strings.Contains(log.String(), "incident="+incident) || !strings.Contains(log.String(), "disk") {
		t.Errorf("%v does not identify the line of the log: %s", err, log.String())
	}
}
