package admin

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/internal/testing/linestudy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var document = linestudy.Document(linestudy.Parts{Inference: "rounds = 1"})

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve opens a hub and serves its orders on a socket. It returns the state directory and the hub.
func serve(t *testing.T) (dir string, hub *coordinator.Hub) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), strings.Repeat("long-", 20), "state")
	hub, err := coordinator.Open(dir, coordinator.Options{})
	check(t, err)
	l, err := Listen(dir)
	check(t, err)
	server := NewServer(Local{Hub: hub})
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		check(t, server.Shutdown(context.Background()))
		<-done
		check(t, hub.Close())
	})
	return dir, hub
}

func TestOrders(t *testing.T) {
	dir, hub := serve(t)
	remote, err := Dial(t.Context(), dir)
	check(t, err)
	founded, err := remote.Found(t.Context(), Founding{
		File: "plane.toml", Document: document, Addresses: []string{"hub:1"},
		Clients: []identity.Name{"north"}, Valid: time.Hour,
	})
	check(t, err)
	if founded.Study != "plane" || len(founded.Invited) != 1 || founded.Coordinator != hub.Fingerprint() {
		t.Errorf("%+v", founded)
	}
	invited, err := remote.Invite(t.Context(), Invitation{Study: "plane", Clients: []identity.Name{"south"}, Valid: time.Hour})
	if err != nil || len(invited) != 1 || invited[0].Name != "south" {
		t.Errorf("%v, %v", invited, err)
	}
	for _, api := range []API{remote, Local{Hub: hub}} {
		all, err := api.Status(t.Context(), "")
		if err != nil || len(all) != 1 || len(all[0].Clients) != 2 || all[0].Phase != coordinator.Gathering {
			t.Errorf("%+v, %v", all, err)
		}
		var b bytes.Buffer
		if err := api.Bundle(t.Context(), "plane", &b); err != nil || b.Len() == 0 {
			t.Errorf("a bundle of %d bytes, %v", b.Len(), err)
		}
		for what, err := range map[string]error{
			"posterior": second(api.Posterior(t.Context(), "plane")), "start": api.Begin(t.Context(), "plane"),
			"another study": second(api.Status(t.Context(), "sphere")), "its bundle": api.Bundle(t.Context(), "sphere", &b),
			"the same again": second(api.Found(t.Context(), Founding{Document: document, Addresses: []string{"hub:1"}})),
			"a wrong name":   second(api.Invite(t.Context(), Invitation{Clients: []identity.Name{"N"}, Valid: time.Hour})),
			"a similar name": second(api.Invite(t.Context(), Invitation{Clients: []identity.Name{"n0rth", "north-"}, Valid: time.Hour})),
			"its own name":   second(api.Invite(t.Context(), Invitation{Clients: []identity.Name{"coordinator"}, Valid: time.Hour})),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
	}
	check(t, remote.Abort(t.Context(), "plane", "a drill"))
	if err := remote.Abort(t.Context(), "plane", "again"); err == nil || !strings.Contains(err.Error(), "over already") {
		t.Errorf("aborted twice: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Only the owner can use the socket. Dial returns an error if no coordinator runs, and Listen
// replaces a socket that an earlier process left.
//
//abuse:case P02 the socket is for the owner of the state directory
func TestSocketIsForItsOwner(t *testing.T) {
	dir, _ := serve(t)
	info, err := os.Stat(filepath.Join(dir, socketName))
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o", info.Mode().Perm())
	}
	if _, err := Dial(t.Context(), t.TempDir()); !errors.Is(err, ErrNoServer) {
		t.Errorf("no coordinator is running: %v", err)
	}
	// This directory contains a socket of an earlier process. Listen must replace it.
	left := t.TempDir()
	for range 2 {
		l, err := Listen(left)
		check(t, err)
		check(t, l.Close())
	}
}

// The test process connects to itself, so the peer is the test process.
func TestPeerOf(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	check(t, err)
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	check(t, err)
	defer c.Close()
	other, err := l.Accept()
	check(t, err)
	defer other.Close()
	g, err := peerOf(other.(*net.UnixConn))
	if err != nil || g.uid != os.Getuid() || g.pid != os.Getpid() {
		t.Errorf("%+v, %v", g, err)
	}
}
