package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"fedpvi/transport/internal/wirepb"
)

// Config configures a client's connection to the coordinator of its study.
type Config struct {
	Address string // the coordinator's address, host:port
	// TLS is a configuration from channel.Client. For a guest, which has no certificate, it is from
	// channel.Join.
	TLS *tls.Config
	// RoundDeadline is the time limit for a round. All other time limits are fractions of it.
	RoundDeadline time.Duration
	MaxEntry      int64 // maximum size of an entry's body, in bytes
	// Brief lets the coordinator leave out bodies that the client can compute from earlier entries.
	// [Client.Entry] then returns such an item without its body. [Client.Whole] returns it with the
	// body.
	Brief bool
	// Poll is how often the client requests entries. If it is 0, the client stays connected, and
	// entries arrive at once.
	Poll time.Duration
	Log  *slog.Logger
	// Handshake, unless nil, is called after each attempt to connect. err is nil after a success.
	// If another party answers, it is an *Impostor. Handshake may be called concurrently.
	Handshake func(address string, err error)
	Observer  Observer
	// DialContext makes connections, as [Proxy.DialContext] does. The default is a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Client calls the coordinator of one study. If a call fails for a reason that may pass, the
// client tries again with the same bytes. It gives up when the context is done or, except in Entry,
// when there was no progress for a fifth of the round deadline. A Client is safe for concurrent
// use. Its errors are:
//
//   - a [*Refusal] if the coordinator refuses the call
//   - an [*Unreachable] if the coordinator cannot be reached
//   - an [*Impostor] if another party answers
//   - a [*Breach] if the coordinator violates the protocol
//
// Any other error means that the call ended or that the coordinator has an internal error.
type Client struct {
	config   Config
	timing   timing
	observer Observer
	line     *line
	conn     *grpc.ClientConn
	rpc      wirepb.StudyClient
	versions versions
	version  atomic.Uint32
	// holds the only follower, which receives entries, or nil; empty while Entry is using it
	reader chan *follower
	sender chan struct{} // has a value while an answer is being sent
	life   context.Context
	end    context.CancelFunc
}

// Dial connects to the coordinator and agrees with it on a protocol version.
func Dial(ctx context.Context, c Config) (*Client, error) {
	return dial(ctx, c, ours)
}

func dial(ctx context.Context, config Config, speaks versions) (*Client, error) {
	c, err := newClient(config, speaks)
	if err != nil {
		return nil, err
	}
	if err := c.short(ctx, "Hello", c.agree); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newClient(config Config, speaks versions) (*Client, error) {
	if config.TLS == nil || config.MaxEntry <= 0 {
		return nil, errors.New("a client needs a TLS configuration and the size of the largest entry")
	}
	if _, _, err := net.SplitHostPort(config.Address); err != nil {
		return nil, fmt.Errorf("address %q: give a host and a port, as in hub.example.org:7443", config.Address)
	}
	t, err := deriveTiming(config.RoundDeadline)
	if err != nil {
		return nil, err
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Observer == nil {
		config.Observer = blind{}
	}
	if config.DialContext == nil {
		config.DialContext = new(net.Dialer).DialContext
	}
	c := &Client{config: config, timing: t, observer: config.Observer, versions: speaks, reader: make(chan *follower, 1), sender: make(chan struct{}, 1)}
	c.line = newLine(config.Address, config.Log)
	c.line.tried = config.Handshake
	c.conn, err = grpc.NewClient("passthrough:///"+config.Address, c.options()...)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", config.Address, err)
	}
	c.rpc = wirepb.NewStudyClient(c.conn)
	c.reader <- nil
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

func (c *Client) options() []grpc.DialOption {
	all := []grpc.DialOption{
		grpc.WithTransportCredentials(clientSide{config: withHTTP2(c.config.TLS), line: c.line}),
		grpc.WithAuthority(c.config.TLS.ServerName),
		grpc.WithContextDialer(c.connect),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: c.timing.first, Multiplier: 2, Jitter: 0.3, MaxDelay: c.timing.longest},
			MinConnectTimeout: c.timing.handshake,
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxAnswer), grpc.MaxCallSendMsgSize(maxAsked), grpc.WaitForReady(true)),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithStaticStreamWindowSize(streamWindow),
		grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithUserAgent("fedpvi"),
	}
	if c.config.Poll > 0 {
		return append(all, grpc.WithIdleTimeout(max(c.config.Poll/4, time.Second)))
	}
	return append(all,
		grpc.WithIdleTimeout(c.timing.patience),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: c.timing.ping, Timeout: c.timing.pong, PermitWithoutStream: true}))
}

func (c *Client) connect(ctx context.Context, address string) (net.Conn, error) {
	raw, err := c.config.DialContext(ctx, "tcp", address)
	if err != nil {
		c.line.report(err)
		c.line.failed(err)
		return nil, err
	}
	return counted{raw, c.observer}, nil
}

// Close ends all calls and closes the connection.
func (c *Client) Close() error {
	c.end()
	err := c.conn.Close()
	if f := <-c.reader; f != nil {
		f.stop()
	}
	c.reader <- nil
	return err
}

func (c *Client) agree(ctx context.Context) error {
	m, err := c.rpc.Hello(ctx, wirepb.HelloRequest_builder{Lowest: c.versions.lowest, Highest: c.versions.highest}.Build())
	if err != nil {
		return err
	}
	if !c.versions.has(m.GetVersion()) {
		return c.breach(refuse(Version, "it chose protocol version %d, but this program supports %v", m.GetVersion(), c.versions))
	}
	c.version.Store(m.GetVersion())
	return nil
}

// inVersion returns a context that sends the agreed protocol version in a header.
func (c *Client) inVersion(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, versionHeader, strconv.FormatUint(uint64(c.version.Load()), 10))
}

// Join redeems an invitation. The client must be a guest, which has no certificate.
func (c *Client) Join(ctx context.Context, r JoinRequest) (Admission, error) {
	m, err := invoke(ctx, c, "Join", c.rpc.Join, wirepb.JoinRequest_builder{Token: r.Token, Entry: r.Entry, Request: r.Request}.Build())
	return Admission{Study: m.GetStudy(), Authority: m.GetAuthority(), Certificate: m.GetCertificate(), Coordinator: m.GetCoordinator()}, err
}

// Renew requests a new certificate. If r.Renewal is not nil, it also replaces this client's keys. A
// client whose certificate has expired can call Renew as a guest.
func (c *Client) Renew(ctx context.Context, r RenewRequest) (Renewed, error) {
	m, err := invoke(ctx, c, "Renew", c.rpc.Renew, wirepb.RenewRequest_builder{Request: r.Request, Renewal: r.Renewal}.Build())
	return Renewed{Certificate: m.GetCertificate(), Authority: m.GetAuthority(), Signature: m.GetAuthoritySignature(), Renewals: m.GetRenewals()}, err
}

// Standing returns the coordinator's record of this client.
func (c *Client) Standing(ctx context.Context) (Standing, error) {
	m, err := invoke(ctx, c, "Standing", c.rpc.Standing, wirepb.StandingRequest_builder{}.Build())
	st := Standing{Entries: m.GetEntries(), Approved: m.GetApproved(), Gossip: c.gossip(m), Renewals: m.GetRenewals()}
	if len(m.GetLast()) > 0 {
		st.Last = m.GetLast()
	}
	return st, err
}

// Approve sends this client's signed approval of the study, or its signed withdrawal.
func (c *Client) Approve(ctx context.Context, envelope []byte) error {
	_, err := invoke(ctx, c, "Approve", c.rpc.Approve, wirepb.ApproveRequest_builder{Envelope: envelope}.Build())
	return err
}

// invoke calls a method that has one request and one response.
func invoke[Q, A any](ctx context.Context, c *Client, method string, call func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) (response A, err error) {
	err = c.short(ctx, method, func(ctx context.Context) (err error) {
		response, err = call(ctx, request)
		return err
	})
	return response, err
}

// short makes a call that has one request and one response, with retries.
func (c *Client) short(ctx context.Context, method string, call func(context.Context) error) error {
	return c.try(ctx, method, func(e *effort) error { return c.once(e.ctx, call) })
}

func (c *Client) once(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.inVersion(ctx), c.timing.call)
	defer cancel()
	return call(ctx)
}
