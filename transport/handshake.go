package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"

	"fedpvi/crypto/channel"
)

// A caller is who is at the other end of a connection to a server, and by which name it
// called the study.
type caller struct {
	credentials.CommonAuthInfo
	study string
	peer  channel.Party // zero for a guest
}

// AuthType is what gRPC asks.
func (caller) AuthType() string { return "fedpvi" }

var secure = credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}

// withHTTP2 is a configuration that speaks HTTP/2 and nothing else.
func withHTTP2(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.NextProtos = []string{"h2"}
	return c
}

var errProtocol = errors.New("the other end does not speak HTTP/2 within TLS")

// serverSide makes the connections of a server: gRPC has set a deadline for it.
type serverSide struct{ server *Server }

func (s serverSide) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c := tls.Server(raw, s.server.tls)
	if err := c.Handshake(); err != nil {
		raw.Close()
		return nil, nil, err
	}
	who, err := s.recognise(raw, c.ConnectionState())
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	if who.peer == (channel.Party{}) {
		return &visited{Conn: c, left: maxGuest}, who, nil
	}
	return &attended{Conn: c, seen: func() { s.server.see(who) }}, who, nil
}

func (s serverSide) recognise(raw net.Conn, state tls.ConnectionState) (caller, error) {
	if state.NegotiatedProtocol != "h2" {
		return caller{}, errProtocol
	}
	peer, err := channel.PeerOf(state)
	if err != nil {
		return caller{}, err
	}
	if g, ok := raw.(*guarded); ok {
		s.server.door.know(g, peer)
	}
	return caller{secure, state.ServerName, peer}, nil
}

// see tells a study that something came from a party.
func (s *Server) see(who caller) {
	if study := s.find(who.study); study != nil && study.Seen != nil && who.peer != (channel.Party{}) {
		study.Seen(who.peer)
	}
}

func (serverSide) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("a server does not call")
}

func (serverSide) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}
func (s serverSide) Clone() credentials.TransportCredentials { return s }
func (serverSide) OverrideServerName(string) error           { return errors.ErrUnsupported }

// An attended connection says whenever something came from its other end, also where it
// is no more than the answer to a ping.
type attended struct {
	net.Conn
	seen func()
}

func (a *attended) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	if n > 0 {
		a.seen()
	}
	return n, err
}

// A visited connection is of a guest, who has little to say: it ends when more comes, so
// that what is held for those whom nobody knows is bounded.
type visited struct {
	net.Conn
	left int // bytes that it may still send
}

var errGuest = errors.New("a guest that sends more than it takes to join")

func (v *visited) Read(b []byte) (int, error) {
	if v.left <= 0 {
		return 0, errGuest
	}
	n, err := v.Conn.Read(b[:min(len(b), v.left)])
	v.left -= n
	return n, err
}

// clientSide makes the connections of a client, and tells its line of what goes wrong.
type clientSide struct {
	config *tls.Config
	line   *line
}

func (s clientSide) ClientHandshake(ctx context.Context, _ string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c := tls.Client(raw, s.config)
	err := c.HandshakeContext(ctx)
	if err == nil && c.ConnectionState().NegotiatedProtocol != "h2" {
		err = errProtocol
	}
	if err != nil {
		raw.Close()
		s.line.failed(err)
		return nil, nil, err
	}
	return &observed{Conn: c, line: s.line}, callee{secure}, nil
}

// A callee is a coordinator that was recognised.
type callee struct{ credentials.CommonAuthInfo }

// AuthType is what gRPC asks.
func (callee) AuthType() string { return "fedpvi" }

func (clientSide) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("a client is not called")
}

func (clientSide) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}
func (s clientSide) Clone() credentials.TransportCredentials { return s }
func (clientSide) OverrideServerName(string) error           { return errors.ErrUnsupported }

// An observed connection of a client tells its line how it is: the refusal of a
// certificate comes with the first byte that is read after a handshake that seemed to
// have succeeded.
type observed struct {
	net.Conn
	line   *line
	closed atomic.Bool // by this end
}

func (o *observed) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if n > 0 {
		o.line.alive()
	}
	if err != nil && !o.closed.Load() {
		o.line.failed(err)
	}
	return n, err
}

// Close says goodbye first. The other end may answer that by closing, and so end a read
// before this end has closed: that is no fault.
func (o *observed) Close() error {
	o.closed.Store(true)
	return o.Conn.Close()
}
