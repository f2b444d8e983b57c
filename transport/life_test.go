package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"fedpvi/transport/internal/wirepb"
)

// restart replaces the server with one for the same study that supports the given protocol
// versions.
func (w *world) restart(speaks versions) {
	w.t.Helper()
	w.close()
	w.listener = bufconn.Listen(pipe)
	var err error
	w.server, err = NewServer(ServerConfig{})
	check(w.t, err)
	w.server.versions = speaks
	check(w.t, w.server.Add(w.study(w.desk)))
	go func() { w.served <- w.server.Serve(w.listener) }()
}

func TestClientSurvivesARestartOfTheCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		north := w.dial(w.config("north"))
		w.desk.say([]byte("before"))
		if _, err := north.Entry(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		got := make(chan Item)
		go func() {
			it, err := north.Entry(t.Context(), 2)
			if err != nil {
				t.Error(err)
			}
			got <- it
		}()
		synctest.Wait()
		start := time.Now()
		w.restart(ours)
		w.desk.say([]byte("after"))
		if it := <-got; string(it.Body) != "after" {
			t.Errorf("%q", it.Body)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the client was back after %v", took)
		}
	})
}

// A client may end a call of Follow, or the coordinator may end it because the study is over. The
// metrics must count both in the same way.
func TestFollowThatTheClientEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := newCounter()
		config := w.config("north")
		config.Observer = o
		north := w.dial(config)
		w.desk.say([]byte("the last entry"))
		_, err := north.Entry(t.Context(), 1)
		check(t, err)
		north.Close()
		synctest.Wait()
		calls, _, _ := o.counts()
		if n := calls[[2]string{"Follow", string(Ended)}]; n != 1 || calls[[2]string{"Follow", "canceled"}] != 0 {
			t.Errorf("counted %v", calls)
		}
	})
}

func TestShutdownEndsWaitingCallsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
		ctx := inVersion(t.Context(), "1")
		waits, err := rpc.Follow(ctx, wirepb.FollowRequest_builder{Number: 1, Stay: true}.Build())
		check(t, err)
		synctest.Wait()
		w.server.Shutdown(t.Context())
		_, err = waits.Recv()
		wantRefusal(t, wrapped(err), Unavailable)
		if err := w.server.Add(w.study(w.desk)); err == nil {
			t.Error("a study is added after the shutdown")
		}
	})
}

// When the context of a waiting call is done, the call must end, but the connection must stay open.
func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &saw{}
		c := w.sawn(s)
		north := w.dial(c)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := north.Entry(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			cancel()
		}
		w.desk.say([]byte("roster"))
		if _, err := north.Entry(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if n := w.desk.asked(); s.made != 1 || n != 2 {
			t.Errorf("%d connections, %d questions", s.made, n)
		}
	})
}

func TestPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &saw{dial: w.dialer}
		c := w.config("north")
		c.DialContext, c.Poll = s.DialContext, time.Hour
		north := w.dial(c)
		go func() {
			rest(t.Context(), 150*time.Minute)
			w.desk.say([]byte("roster"))
		}()
		start := time.Now()
		got, err := north.Entry(t.Context(), 1)
		if err != nil || string(got.Body) != "roster" {
			t.Errorf("%q, %v", got.Body, err)
		}
		if took := time.Since(start).Round(time.Minute); took != 3*time.Hour {
			t.Errorf("took %v", took)
		}
		if s.made != 4 {
			t.Errorf("%d connections for four questions an hour apart", s.made)
		}
	})
}

func TestClosingEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		north := w.dial(w.config("north"))
		failed := make(chan error)
		go func() {
			_, err := north.Entry(t.Context(), 1)
			failed <- err
		}()
		synctest.Wait()
		north.Close()
		if err := <-failed; !errors.Is(err, errClosed) {
			t.Errorf("%v", err)
		}
		if _, err := north.Standing(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("%v", err)
		}
	})
}

// The client must retry at longer and longer intervals, and give up in the end.
func TestCoordinatorIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.config("north")
		var tries atomic.Int32
		c.DialContext = func(context.Context, string, string) (net.Conn, error) {
			tries.Add(1)
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
		start := time.Now()
		_, err := Dial(t.Context(), c)
		var u *Unreachable
		if !errors.As(err, &u) || !errors.Is(err, errPatience) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v", err)
		}
		if want := "cannot reach hub.example.org:7443: connection refused: check that the coordinator is running, and that the port is open for outgoing connections"; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if took := time.Since(start); took != DefaultRoundDeadline/5 || tries.Load() < 5 || tries.Load() > 40 {
			t.Errorf("%d tries in %v", tries.Load(), took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Dial(ctx, c); !errors.As(err, &u) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestClosedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, l.Close())
	w := newWorld(t)
	c := w.config("north")
	c.Address, c.DialContext = l.Addr().String(), nil
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err = Dial(ctx, c); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
}

//abuse:case A11 agreed on, or refused with the side to update
func TestVersionsOfTwoPrograms(t *testing.T) {
	for _, c := range []struct {
		coordinator, client versions
		want                uint32
		update              string
	}{
		{versions{1, 1}, versions{1, 1}, 1, ""},
		{versions{1, 2}, versions{1, 1}, 1, ""}, // the coordinator was updated first
		{versions{1, 1}, versions{1, 2}, 1, ""}, // the client was updated first
		{versions{1, 2}, versions{1, 2}, 2, ""},
		{versions{2, 3}, versions{1, 2}, 2, ""},
		{versions{2, 3}, versions{1, 1}, 0, "update the client"},
		{versions{1, 1}, versions{2, 3}, 0, "update the coordinator"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorldWith(t, ServerConfig{}, c.coordinator)
			north, err := dial(t.Context(), w.config("north"), c.client)
			if c.want == 0 {
				wantRefusal(t, err, Version)
				if err == nil || !strings.Contains(err.Error(), c.update) {
					t.Errorf("%v, want %s", err, c.update)
				}
				return
			}
			check(t, err)
			defer north.Close()
			if got := north.version.Load(); got != c.want {
				t.Errorf("%v and %v agree on %d", c.coordinator, c.client, got)
			}
			check(t, north.Approve(t.Context(), []byte("consent")))
		})
	}
}

// When the coordinator is updated, a connected client must agree on a version again. If there is no
// common version, it must get a refusal.
func TestVersionIsAgreedOnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, ServerConfig{}, versions{1, 1})
		north, err := dial(t.Context(), w.config("north"), versions{1, 2})
		check(t, err)
		defer north.Close()
		w.restart(versions{2, 3})
		check(t, north.Submit(t.Context(), item([]byte("a release"))))
		if got := north.version.Load(); got != 2 {
			t.Errorf("version %d", got)
		}
		w.restart(versions{4, 5})
		_, err = north.Entry(t.Context(), 1)
		wantRefusal(t, err, Version)
	})
}

//abuse:case A11 refused
func TestCallWithoutAVersion(t *testing.T) {
	w := newWorld(t)
	conn := w.raw(w.config("north"))
	for _, v := range []string{"", "0", "3", "one", "-1", "4294967297"} {
		ctx := t.Context()
		if v != "" {
			ctx = inVersion(ctx, v)
		}
		wantRefusal(t, refusalOf(ctx, conn, wirepb.Study_Standing_FullMethodName), Version)
	}
	wantRefusal(t, refusalOf(inVersion(inVersion(t.Context(), "1"), "1"), conn, wirepb.Study_Standing_FullMethodName), Version)
}

// A polite is a connection to a peer that closes its side as soon as ours is closed.
type polite struct {
	net.Conn
	told chan struct{}
	read chan struct{}
}

func (p polite) Read([]byte) (int, error) {
	<-p.told
	return 0, io.EOF
}

func (p polite) Close() error {
	close(p.told)
	<-p.read
	return nil
}

func TestDeliberateCloseIsNoFault(t *testing.T) {
	var said bytes.Buffer
	for _, wanted := range []bool{true, false} {
		said.Reset()
		c := &observed{Conn: polite{told: make(chan struct{}), read: make(chan struct{})}, line: newLine("hub:1", logTo(&said))}
		other := c.Conn.(polite)
		go func() {
			defer close(other.read)
			if _, err := c.Read(nil); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		}()
		if wanted {
			check(t, c.Close())
		} else {
			check(t, other.Close())
		}
		if got := said.Len() == 0; got != wanted {
			t.Errorf("closed by this end %t, logged: %s", wanted, said.String())
		}
	}
}
