package transport

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"fedpvi/transport/internal/wirepb"
)

// raw returns a gRPC connection without the checks that [Client] makes.
func (w *world) raw(c Config) *grpc.ClientConn {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///hub",
		grpc.WithTransportCredentials(clientSide{config: withHTTP2(c.TLS), line: newLine("hub", w.server.log)}),
		grpc.WithContextDialer(func(ctx context.Context, a string) (net.Conn, error) { return c.DialContext(ctx, "tcp", a) }))
	check(w.t, err)
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

func inVersion(ctx context.Context, version string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, versionHeader, version)
}

// refusalOf returns the error of a call on which no message is sent.
func refusalOf(ctx context.Context, conn *grpc.ClientConn, method string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a caller with permission would wait for ever
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return wrapped(err)
	}
	return wrapped(stream.RecvMsg(&wirepb.Refusal{}))
}

// wrapped returns the refusal in err, or err if there is none.
func wrapped(err error) error {
	if r := refusalIn(err); r != nil {
		return r
	}
	return err
}

// An impostor is a server that has the coordinator's keys, but gives the responses that a test
// chooses.
type impostor struct {
	wirepb.UnimplementedStudyServer
	version uint32
	join    func() (*wirepb.JoinResponse, error)
	follow  func(*wirepb.FollowRequest, wirepb.Study_FollowServer) error
	submit  func(wirepb.Study_SubmitServer) error
	pieces  func(*wirepb.PiecesRequest, wirepb.Study_PiecesServer) error
}

func (i *impostor) Hello(context.Context, *wirepb.HelloRequest) (*wirepb.HelloResponse, error) {
	return wirepb.HelloResponse_builder{Version: i.version}.Build(), nil
}

func (i *impostor) Join(context.Context, *wirepb.JoinRequest) (*wirepb.JoinResponse, error) {
	return i.join()
}

func (i *impostor) Follow(m *wirepb.FollowRequest, s wirepb.Study_FollowServer) error {
	return i.follow(m, s)
}

func (i *impostor) Submit(s wirepb.Study_SubmitServer) error { return i.submit(s) }

func (i *impostor) Pieces(m *wirepb.PiecesRequest, s wirepb.Study_PiecesServer) error {
	return i.pieces(m, s)
}

// serveImpostor runs an impostor, and returns the configuration with which a client calls it.
func serveImpostor(t *testing.T, i *impostor) Config {
	t.Helper()
	w := &world{office: newOffice(t, document), listener: bufconn.Listen(1 << 20)}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(w.study(nil).TLS())))
	wirepb.RegisterStudyServer(server, i)
	served := make(chan error, 1)
	go func() { served <- server.Serve(w.listener) }()
	t.Cleanup(func() { server.Stop(); check(t, <-served) })
	return w.config("north")
}

func dialImpostor(t *testing.T, i *impostor) *Client {
	t.Helper()
	c, err := Dial(t.Context(), serveImpostor(t, i))
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// tls does a TLS handshake and returns the connection, so that a test can write HTTP/2 frames to
// it.
func (w *world) tls(c Config) *tls.Conn {
	w.t.Helper()
	raw, err := c.DialContext(w.t.Context(), "tcp", "hub")
	check(w.t, err)
	conn := tls.Client(raw, withHTTP2(c.TLS))
	check(w.t, conn.Handshake())
	w.t.Cleanup(func() { conn.Close() })
	return conn
}
