package transport

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/transport/internal/wirepb"
)

// methods lists all the server's methods, and some names that are not methods.
var methods = append(slices.Collect(maps.Keys(permissions)),
	healthpb.Health_Watch_FullMethodName,
	"/fedpvi.v1.Study/Abort",
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/",
)

// The calls send no message, because the server must refuse a caller without permission before it
// reads one.
//
//abuse:case P04 the handler is not reached
func TestGuestsMayOnlyJoinAndRenew(t *testing.T) {
	w := newWorld(t)
	conn := w.raw(w.guest())
	for _, method := range methods {
		if !permissions[method].guests {
			wantRefusal(t, refusalOf(inVersion(t.Context(), "1"), conn, method), Denied)
		}
	}
	if len(w.desk.peers) != 0 {
		t.Errorf("the coordinator was called: %v", w.desk.peers)
	}
}

func TestOnlyClientsCall(t *testing.T) {
	w := newWorld(t)
	c := w.config("north")
	c.TLS = channel.Client{Credentials: w.credentials("root", identity.Admin), Pins: w.pin, Now: time.Now}.Config()
	conn := w.raw(c)
	for _, method := range methods {
		wantRefusal(t, refusalOf(inVersion(t.Context(), "1"), conn, method), Denied)
	}
}

func TestUnknownMethods(t *testing.T) {
	w := newWorld(t)
	conn := w.raw(w.config("north"))
	for _, method := range methods {
		if _, ok := permissions[method]; !ok {
			wantRefusal(t, refusalOf(inVersion(t.Context(), "1"), conn, method), Denied)
		}
	}
}

//abuse:case A08 refused
//abuse:case P02 each sees its own study
func TestPeerOfAnotherStudy(t *testing.T) {
	w := newWorld(t)
	other := newOffice(t, sha256.Sum256([]byte("another study")))
	desk := newDesk()
	check(t, w.server.Add(other.study(desk)))

	// This caller has its own keys, claims the other study's name, and accepts any certificate.
	c := w.config("north")
	c.TLS.ServerName = channel.ServerName(other.document)
	c.TLS.InsecureSkipVerify, c.TLS.VerifyConnection = true, nil
	_, err := Dial(t.Context(), c)
	var u *Unreachable
	if !errors.As(err, &u) {
		t.Errorf("a peer of one study calls another: %v", err)
	}

	// This caller claims the name of a study that the server does not have.
	c.TLS.ServerName = channel.ServerName(sha256.Sum256([]byte("a third")))
	if _, err := Dial(t.Context(), c); !errors.As(err, &u) {
		t.Errorf("a study that is not served: %v", err)
	}

	// Each party must get the transcript of its own study.
	w.desk.say([]byte("ours"))
	desk.say([]byte("theirs"))
	d := w.config("north")
	d.TLS = channel.Client{Credentials: other.credentials("north", identity.Client), Pins: other.pin, Now: time.Now}.Config()
	for want, client := range map[string]*Client{"ours": w.dial(w.config("north")), "theirs": w.dial(d)} {
		if got, err := client.Entry(t.Context(), 1); err != nil || string(got.Body) != want {
			t.Errorf("%q, %v, want %q", got.Body, err, want)
		}
	}
	if err := w.server.Add(other.study(desk)); err == nil {
		t.Error("a study is served twice")
	}
}

// When a client leaves the roster, its next connection must be refused. (A coordinator also checks
// each call.)
//
//abuse:case P13 refused at the next connection
func TestPartyRemovedFromTheRoster(t *testing.T) {
	w := newWorld(t)
	c := w.config("north")
	delete(w.pins, channel.Party{Study: document, Role: identity.Client, Name: "north"})
	_, err := Dial(t.Context(), c)
	var u *Unreachable
	if !errors.As(err, &u) || !alert(u.Err) {
		t.Errorf("%v", err)
	}
}

//abuse:case P08 neither end sends data without TLS
//abuse:case A11 neither end falls back to an unencrypted connection
func TestNothingInTheClear(t *testing.T) {
	w := newWorld(t)
	conn, err := grpc.NewClient("passthrough:///hub", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, a string) (net.Conn, error) { return w.dialer(ctx, "tcp", a) }))
	check(t, err)
	defer conn.Close()
	for _, method := range methods {
		if err := refusalOf(inVersion(t.Context(), "1"), conn, method); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", method, err)
		}
	}
	if len(w.desk.peers) != 0 {
		t.Errorf("the coordinator was called: %v", w.desk.peers)
	}

	in := bufconn.Listen(pipe)
	server := grpc.NewServer()
	wirepb.RegisterStudyServer(server, &impostor{version: 1})
	served := make(chan error, 1)
	go func() { served <- server.Serve(in) }()
	t.Cleanup(func() { server.Stop(); check(t, <-served) })
	c := w.config("north")
	c.RoundDeadline = time.Second
	c.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return in.DialContext(ctx) }
	var u *Unreachable
	if _, err := Dial(t.Context(), c); !errors.As(err, &u) {
		t.Errorf("a coordinator without TLS: %v", err)
	}
}
