package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
)

// A saw cuts a client's connections. It cuts connection i after cuts[i] bytes, sent and received
// together. If cuts[i] is −1 or does not exist, it does not cut this connection.
type saw struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	mu   sync.Mutex
	cuts []int
	made int
	used []int // number of bytes that each connection has carried so far
}

func (s *saw) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := s.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cut := &cutConn{Conn: c, saw: s, id: s.made, left: -1}
	if s.made < len(s.cuts) {
		cut.left = s.cuts[s.made]
	}
	s.made++
	s.used = append(s.used, 0)
	return cut, nil
}

func (w *world) sawn(s *saw) Config {
	s.dial = w.dialer
	c := w.config("north")
	c.DialContext = s.DialContext
	return c
}

type cutConn struct {
	net.Conn
	saw  *saw
	id   int
	left int
}

// pass returns how many of the next n bytes may pass before the cut.
func (c *cutConn) pass(n int) int {
	c.saw.mu.Lock()
	defer c.saw.mu.Unlock()
	if c.left >= 0 {
		n = min(n, c.left)
		c.left -= n
	}
	c.saw.used[c.id] += n
	return n
}

func (c *cutConn) Write(b []byte) (int, error) {
	n := c.pass(len(b))
	if n == len(b) {
		return c.Conn.Write(b)
	}
	c.Conn.Write(b[:n])
	c.Conn.Close()
	return n, io.ErrClosedPipe
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	if through := c.pass(n); through < n {
		c.Conn.Close()
		return through, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (s *saw) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, used := range s.used {
		n += used
	}
	return n
}

// stride returns how many bytes apart the tested cuts are. If every byte were tested, the test
// would take minutes.
func stride() int {
	switch {
	case os.Getenv("FEDPVI_LONG") != "":
		return 1
	case testing.Short():
		return 2003
	}
	return 401
}

//abuse:case A25 taken once, from where it was cut
func TestReleaseArrivesOnceWhereverTheConnectionIsCut(t *testing.T) {
	release := item(bytes.Repeat([]byte("0123456789abcdef"), 300))
	for _, prompt := range []bool{false, true} {
		everywhere(t, func(t *testing.T, s *saw) {
			w := newWorld(t)
			w.desk.prompt = prompt
			c := w.sawn(s)
			check(t, w.dial(c).Submit(t.Context(), release))
			if n := w.desk.taken(release); n != 1 {
				t.Errorf("cut at %v, prompt %v: accepted %d times", s.cuts, prompt, n)
			}
		})
	}
}

//abuse:case A25 whole, or not at all
func TestEntryArrivesWholeWhereverTheConnectionIsCut(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 300)
	run := func(t *testing.T, s *saw) {
		w := newWorld(t)
		c := w.sawn(s)
		w.desk.say(body)
		w.desk.say([]byte("the next"))
		north := w.dial(c)
		for n, want := range [][]byte{body, []byte("the next")} {
			got, err := north.Entry(t.Context(), uint64(n+1))
			if err != nil || !bytes.Equal(got.Body, want) {
				t.Errorf("cut at %v: %d bytes, %v", s.cuts, len(got.Body), err)
			}
		}
	}
	everywhere(t, run)
}

// everywhere calls run many times. Each time, the first connection is cut stride bytes later than
// before, and the second one somewhere else.
func everywhere(t *testing.T, run func(*testing.T, *saw)) {
	var all int // number of bytes if there is no cut
	synctest.Test(t, func(t *testing.T) {
		s := &saw{}
		run(t, s)
		all = s.total()
	})
	for k := 0; k < all; k += stride() {
		synctest.Test(t, func(t *testing.T) { run(t, &saw{cuts: []int{k, all - k/2}}) })
		if t.Failed() {
			return
		}
	}
}

// After a cut, the client must not send again the bytes that have arrived.
func TestReleaseContinuesAfterACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := item(bytes.Repeat([]byte{7}, 4<<20))
		s := &saw{cuts: []int{3 << 20}}
		c := w.sawn(s)
		check(t, w.dial(c).Submit(t.Context(), release))
		if n := w.desk.taken(release); n != 1 {
			t.Errorf("taken %d times", n)
		}
		if again := s.total() - len(release.Body); again > streamWindow+sentPiece+pipe+32<<10 {
			t.Errorf("%d bytes more than the release went over the wire", again)
		}
	})
}

// After a cut, the coordinator must not send again the bytes that have arrived.
func TestEntryContinuesAfterACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		body := bytes.Repeat([]byte{7}, 4<<20)
		w.desk.say(body)
		s := &saw{cuts: []int{3 << 20}}
		c := w.sawn(s)
		got, err := w.dial(c).Entry(t.Context(), 1)
		if err != nil || !bytes.Equal(got.Body, body) {
			t.Errorf("%d bytes, %v", len(got.Body), err)
		}
		if again := s.total() - len(body); again > streamWindow+sentPiece+pipe+32<<10 {
			t.Errorf("%d bytes more than the entry went over the wire", again)
		}
	})
}

//abuse:case A09 the connection ends in the handshake and is not tried again
func TestWrongPinIsNotTriedAgain(t *testing.T) {
	w := newWorld(t)
	c := w.config("north")
	s := &saw{dial: w.dialer}
	c.DialContext = s.DialContext
	c.TLS = c.TLS.Clone()
	wrong := errors.New("another pin")
	c.TLS.VerifyConnection = func(tls.ConnectionState) error { return wrong }
	_, err := Dial(t.Context(), c)
	var u *Unreachable
	if !errors.As(err, &u) || !errors.Is(err, wrong) || s.made != 1 {
		t.Errorf("%v after %d tries", err, s.made)
	}
}

// If a short answer is sent with its offer, a round trip is saved. But if the answer is long or
// part of it has arrived, the client must first wait for the coordinator's response.
func TestShortReleaseComesWithItsOffer(t *testing.T) {
	for size, want := range map[int]bool{1: true, sentWhole: true, sentWhole + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.desk.prompt = true
			release := item(bytes.Repeat([]byte{7}, size))
			check(t, w.dial(w.config("north")).Submit(t.Context(), release))
			if _, pieces := w.desk.peers["Write"]; pieces == want || w.desk.taken(release) != 1 {
				t.Errorf("%d bytes: in pieces %v, accepted %d times", size, pieces, w.desk.taken(release))
			}
		})
	}
	if promptly([]byte{1}, 0) != nil {
		t.Error("a release is sent whole although its coordinator has part of it")
	}
}
