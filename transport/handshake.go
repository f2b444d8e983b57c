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

// A caller is the peer on a server's connection, with the study that it has chosen by the TLS
// server name. On the client's side it is empty.
type caller struct {
	credentials.CommonAuthInfo
	study string
	peer  channel.Party // the authenticated party; zero for a guest, which has no certificate
}

// AuthType returns the name of the authentication, which gRPC requires.
func (caller) AuthType() string { return "fedpvi" }

var secure = credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}

// withHTTP2 returns a copy of c that allows only the protocol HTTP/2.
func withHTTP2(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.NextProtos = []string{"h2"}
	return c
}

var errProtocol = errors.New("the other end does not speak HTTP/2 within TLS")

// oneSide has the methods of [credentials.TransportCredentials] that the two sides share. gRPC
// never calls the other side's handshake.
type oneSide struct{}

func (oneSide) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}
func (oneSide) OverrideServerName(string) error { return errors.ErrUnsupported }

func (oneSide) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

func (oneSide) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

// serverSide does a server's TLS handshakes. gRPC limits how long they take.
type serverSide struct {
	oneSide
	server *Server
}

func (s serverSide) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	unwrapped, err := s.server.door.unwrap(raw)
	if err != nil {
		s.server.auditor.Handshake(raw.RemoteAddr(), "", channel.Party{}, err)
		raw.Close()
		return nil, nil, err
	}
	c := tls.Server(unwrapped, s.server.tls)
	who, err := s.handshake(raw, c)
	s.server.auditor.Handshake(c.RemoteAddr(), who.study, who.peer, err)
	if err != nil {
		raw.Close()
		return nil, nil, err
	}
	if who.peer == (channel.Party{}) {
		return &visited{Conn: c, left: maxGuest}, who, nil
	}
	return &attended{Conn: c, seen: func() { s.server.see(who) }}, who, nil
}

// handshake does the TLS handshake on c and returns the peer. raw is the connection below c, as the
// door has let it in.
func (s serverSide) handshake(raw net.Conn, c *tls.Conn) (caller, error) {
	if err := c.Handshake(); err != nil {
		return caller{}, err
	}
	state := c.ConnectionState()
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
	// Check again, because the peer's key may have been replaced since the handshake checked it. If
	// it is replaced later, [Server.Drop] closes this connection.
	if study := s.server.find(state.ServerName); study != nil {
		if err := study.TLS().VerifyConnection(state); err != nil {
			return caller{}, err
		}
	}
	return caller{secure, state.ServerName, peer}, nil
}

// see calls the study's Seen function when bytes have arrived from a party.
func (s *Server) see(who caller) {
	if study := s.find(who.study); study != nil && study.Seen != nil && who.peer != (channel.Party{}) {
		study.Seen(who.peer)
	}
}

func (s serverSide) Clone() credentials.TransportCredentials { return s }

// attended is a connection that calls seen whenever bytes arrive, even if they only answer pings.
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

// visited is a guest's connection. Only a limited number of bytes can be read from it.
type visited struct {
	net.Conn
	left int // number of bytes that may still be read
}

var errGuest = errors.New("a guest sent more than a join needs")

func (v *visited) Read(b []byte) (int, error) {
	if v.left <= 0 {
		return 0, errGuest
	}
	n, err := v.Conn.Read(b[:min(len(b), v.left)])
	v.left -= n
	return n, err
}

// clientSide does a client's TLS handshakes, and reports failures to its [line].
type clientSide struct {
	oneSide
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
		s.line.report(err)
		s.line.failed(err)
		return nil, nil, err
	}
	s.line.report(nil)
	return &observed{Conn: c, line: s.line}, caller{CommonAuthInfo: secure}, nil
}

func (s clientSide) Clone() credentials.TransportCredentials { return s }

// observed is a client's connection. It tells its [line] when bytes arrive and when reading fails.
// Even after a successful handshake, the client must read to find out whether the coordinator
// refuses its certificate.
type observed struct {
	net.Conn
	line   *line
	closed atomic.Bool // whether this side has closed the connection
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

// Close closes the connection. It first marks it as closed, so that Read does not report an error.
func (o *observed) Close() error {
	o.closed.Store(true)
	return o.Conn.Close()
}
