package transport

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/http2"

	"fedpvi/crypto/identity"
	"fedpvi/transport/internal/wirepb"
)

// begun starts several calls of one method with raw HTTP/2 frames. Each call announces a message of
// the maximum size. Together they send as much as the connection's window allows. If the server
// closes the connection, begun returns early.
func (w *world) begun(t *testing.T, c Config, method string, calls int) {
	t.Helper()
	f := w.wire(t, c).framer
	for call := range calls {
		id := uint32(2*call + 1)
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(method), EndHeaders: true}) != nil {
			return
		}
		data := make([]byte, 16<<10)
		binary.BigEndian.PutUint32(data[1:], maxAsked)
		for sent := 0; sent < connWindow/calls-len(data); sent += len(data) {
			if f.WriteData(id, false, data) != nil {
				return
			}
			clear(data[:5])
		}
	}
}

// A thousand calls send as much as they can and never end. If they come from a guest, the server
// must disconnect it at once. If they come from a client, they must not use more memory than their
// flow-control windows, and other clients must still be served.
//
//abuse:case A12 a thousand such calls: guests hold 64 KiB a connection, parties their window; others are served
func TestThousandEndlessCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("memory cannot be measured under the race detector: run without -short")
	}
	const calls = 10
	for _, who := range []struct {
		name        string
		connections int
		method      string
		each        int64 // maximum memory that a connection may take, in addition to pipes and buffers
		config      func(w *world, n int) Config
	}{
		{"guests", 50, wirepb.Study_Join_FullMethodName, 64 << 10, func(w *world, _ int) Config { return w.guest() }},
		{"parties", 50, wirepb.Study_Submit_FullMethodName, 1 << 20, func(w *world, n int) Config {
			return w.config(identity.Name(fmt.Sprintf("site-%d", n)))
		}},
	} {
		t.Run(who.name, func(t *testing.T) {
			w := newWorld(t)
			north := w.dial(w.config("north"))
			w.desk.say([]byte("entry"))
			before := heap()
			for n := range who.connections {
				w.begun(t, who.config(w, n), who.method, calls)
			}
			if _, err := north.Entry(t.Context(), 1); err != nil {
				t.Errorf("nobody else is served: %v", err)
			}
			const ends = 2*pipe + 256<<10 // memory of the test's two pipes, and of the TLS and HTTP/2 buffers
			if more, most := heap()-before, int64(who.connections)*(who.each+ends); more > most {
				t.Errorf("%d bytes are held for %d calls, want %d at most", more, who.connections*calls, most)
			}
		})
	}
}

// For an IPv6 address, hostOf must return the network, because one host may use all addresses in
// it.
func TestHosts(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7:443":             "192.0.2.7",
		"[::ffff:192.0.2.7]:443":    "192.0.2.7",
		"[2001:db8:1:2:3::4]:443":   "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::]:1":   "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:443":     "2001:db8:1:3::/64",
		"[fe80::1%eth0]:443":        "fe80::/64",
		"/run/socket without ports": "/run/socket without ports",
	} {
		if got := hostOf(address(text)); got != want {
			t.Errorf("%s belongs to %s, want %s", text, got, want)
		}
	}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
