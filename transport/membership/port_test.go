package membership

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/secret"
)

func listen(t *testing.T) *Port {
	t.Helper()
	p, err := Listen("127.0.0.1:0", nil)
	check(t, err)
	t.Cleanup(func() { check(t, p.Close()) })
	return p
}

func address(p *Port) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.Number()))) }

// at starts a node on a port. When the test ends, the node is closed before the port.
func at(t *testing.T, p *Port, name identity.Name, study channel.Hash) (*Node, *View) {
	t.Helper()
	v := NewView(sites, time.Now)
	n, err := Start(Config{Name: name, Study: study, Key: secret.New(bytes.Clone(key)), View: v, Port: p})
	check(t, err)
	t.Cleanup(func() { check(t, n.Close()) })
	return n, v
}

// Two studies share a port. A node must not receive messages of the other study.
func TestStudiesShareAPort(t *testing.T) {
	hub := listen(t)
	other := sha256.Sum256([]byte("another"))
	first, seen := at(t, hub, "hub", study)
	_, none := at(t, hub, "hub", other)
	south, _ := at(t, listen(t), "south", study)
	came := seen.Changed()
	check(t, south.Join(first.Address()))
	<-came
	if seen.Last("south").At.IsZero() {
		t.Error("south was not seen")
	}
	if all := none.All(); len(all) != 0 {
		t.Errorf("another study has seen %+v", all)
	}
	if _, err := Start(Config{Name: "hub", Study: study, Key: secret.New(bytes.Clone(key)), View: seen, Port: hub}); err == nil {
		t.Error("a study has two nodes on one port")
	}
}

func TestLabelIsReleased(t *testing.T) {
	p, view := listen(t), NewView(sites, time.Now)
	for range 2 {
		n, err := Start(Config{Name: "north", Study: study, Key: secret.New(bytes.Clone(key)), View: view, Port: p})
		check(t, err)
		check(t, n.Close())
	}
}

func TestInvalidAddresses(t *testing.T) {
	taken := listen(t)
	for _, address := range []string{"", "7946", "127.0.0.1", "127.0.0.1:65536", "hub.example.org:7946", ":7946", address(taken)} {
		if p, err := Listen(address, nil); err == nil {
			t.Errorf("%q is taken", address)
			check(t, p.Close())
		}
	}
}

// The port must close streams that have no label or an unknown one, and streams that exceed the
// maximum number.
func TestStreamsWithoutAStudy(t *testing.T) {
	p := listen(t)
	at(t, p, "north", study)
	for name, first := range map[string][]byte{
		"no label":      {1, 2, 3},
		"empty label":   {244, 0, 0},
		"another label": append([]byte{244, 5}, "other"...),
	} {
		c, err := net.Dial("tcp", address(p))
		check(t, err)
		_, err = c.Write(first)
		check(t, err)
		if b, err := io.ReadAll(c); err == nil && len(b) > 0 {
			t.Errorf("%s is answered with %x", name, b)
		}
		c.Close()
	}
	for range maxStreams {
		p.busy <- struct{}{} // simulates the maximum number of open streams
	}
	c, err := net.Dial("tcp", address(p))
	check(t, err)
	defer c.Close()
	if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
		t.Errorf("one too many is answered %x, %v", b, err)
	}
	for range maxStreams {
		<-p.busy
	}
}

func TestStreamIsLimited(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go io.Copy(far, endless{})
	s := &stream{Conn: near, first: []byte("first"), left: 100, end: func() {}}
	b, err := io.ReadAll(s)
	if err != errTooLong || len(b) != 105 || !bytes.HasPrefix(b, []byte("first")) {
		t.Errorf("%d bytes were read: %v", len(b), err)
	}
	far.Close()
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// The port must drop packets that are too long, that belong to no study, or for which the queue is
// full. It must not block.
func TestLostPackets(t *testing.T) {
	p := listen(t)
	o, err := p.outlet("label")
	check(t, err)
	header, err := memberlist.AddLabelHeaderToPacket([]byte("something"), "label")
	check(t, err)
	long := append(bytes.Clone(header), make([]byte, maxPacket)...)
	for _, b := range [][]byte{nil, {244}, {244, 9, 1}, []byte("label"), long} {
		p.deliver(&memberlist.Packet{Buf: b})
	}
	if n := len(o.packets); n != 0 {
		t.Errorf("%d packets without a study were delivered", n)
	}
	for range queue + 1 {
		p.deliver(&memberlist.Packet{Buf: header})
	}
	if n := len(o.packets); n != queue {
		t.Errorf("%d packets wait, want %d", n, queue)
	}
}

func TestPortClosesUnderAFlood(t *testing.T) {
	for range 20 {
		p, err := Listen("127.0.0.1:0", nil)
		check(t, err)
		packets, err := net.Dial("udp", address(p))
		check(t, err)
		end, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-end:
					return
				default:
					packets.Write([]byte("more and more")) // ignore the error, because the port may be closed
				}
			}
		}()
		check(t, p.Close())
		close(end)
		<-ended
		check(t, packets.Close())
	}
}
