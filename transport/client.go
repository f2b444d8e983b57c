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
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"fedpvi/transport/internal/wirepb"
)

// A Config says how a client calls the coordinator of its study.
type Config struct {
	// Address is host and port.
	Address string
	// TLS is of channel.Client, or of channel.Join for a guest.
	TLS *tls.Config
	// RoundDeadline is the time for a round, from which all others are derived.
	RoundDeadline time.Duration
	// MaxEntry is the largest body of an entry that is taken, in bytes.
	MaxEntry int64
	// Brief says that bodies that follow from the entries before are worked out here: [Client.Entry]
	// returns such items without them, and [Client.Whole] one with it.
	Brief bool
	// Poll, if it is not zero, lets the client ask for entries at that interval instead
	// of staying connected.
	Poll     time.Duration
	Log      *slog.Logger
	Observer Observer
	// Seen, if there is one, is called whenever something came from the coordinator.
	Seen func()
	// DialContext makes connections; a net.Dialer's if it is nil.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Client calls the coordinator of one study. What fails on the way is tried again, with
// the same bytes, until something moves no more for a fifth of the round deadline or the
// context is done. What the coordinator refuses is a [*Refusal]; where it cannot be
// talked to, the error is an [*Unreachable]; what it must not do is a [*Breach]. Its methods may be called by many
// at once.
type Client struct {
	config   Config
	timing   timing
	observer Observer
	line     *line
	conn     *grpc.ClientConn
	rpc      wirepb.StudyClient
	versions versions
	version  atomic.Uint32
	reader   chan *follower // holds the one follower, or nil
	sender   chan struct{}  // holds the turn to send a release
	life     context.Context
	end      context.CancelFunc
}

// Dial connects and agrees on the version of the protocol.
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
		return nil, errors.New("a client needs a TLS configuration and the size of the largest entry that it takes")
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
	c.line = newLine(config.Address, config.Log, config.Seen)
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
		grpc.WithTransportCredentials(clientSide{withHTTP2(c.config.TLS), c.line}),
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
		c.line.failed(err)
		return nil, err
	}
	return &counted{Conn: raw, observer: c.observer}, nil
}

// Close ends all calls.
func (c *Client) Close() error {
	c.end()
	err := c.conn.Close()
	if f := <-c.reader; f != nil {
		f.stop()
	}
	c.reader <- nil
	return err
}

// Address returns where the coordinator is called.
func (c *Client) Address() string { return c.config.Address }

// agree says hello.
func (c *Client) agree(ctx context.Context) error {
	m, err := c.rpc.Hello(ctx, wirepb.HelloRequest_builder{Lowest: c.versions.lowest, Highest: c.versions.highest}.Build())
	if err != nil {
		return err
	}
	if !c.versions.has(m.GetVersion()) {
		return c.breach(refuse(Version, "it chose protocol version %d where this program speaks %v", m.GetVersion(), c.versions))
	}
	c.version.Store(m.GetVersion())
	return nil
}

// inVersion adds to a call the version that was agreed on.
func (c *Client) inVersion(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, versionHeader, strconv.FormatUint(uint64(c.version.Load()), 10))
}

// Join redeems an invitation.
func (c *Client) Join(ctx context.Context, r JoinRequest) (Admission, error) {
	var m *wirepb.JoinResponse
	err := c.short(ctx, "Join", func(ctx context.Context) (err error) {
		m, err = c.rpc.Join(ctx, wirepb.JoinRequest_builder{Token: r.Token, Entry: r.Entry, Request: r.Request}.Build())
		return err
	})
	return Admission{Study: m.GetStudy(), Authority: m.GetAuthority(), Certificate: m.GetCertificate(), Coordinator: m.GetCoordinator()}, err
}

// Renew asks for a new certificate.
func (c *Client) Renew(ctx context.Context, request []byte) (certificate []byte, err error) {
	var m *wirepb.RenewResponse
	err = c.short(ctx, "Renew", func(ctx context.Context) (err error) {
		m, err = c.rpc.Renew(ctx, wirepb.RenewRequest_builder{Request: request}.Build())
		return err
	})
	return m.GetCertificate(), err
}

// Standing asks what the coordinator knows of this client.
func (c *Client) Standing(ctx context.Context) (Standing, error) {
	var m *wirepb.StandingResponse
	err := c.short(ctx, "Standing", func(ctx context.Context) (err error) {
		m, err = c.rpc.Standing(ctx, wirepb.StandingRequest_builder{}.Build())
		return err
	})
	st := Standing{Entries: m.GetEntries(), Approved: m.GetApproved(), Gossip: c.gossip(m)}
	if len(m.GetLast()) > 0 {
		st.Last = m.GetLast()
	}
	return st, err
}

// Approve sends this client's signed consent.
func (c *Client) Approve(ctx context.Context, envelope []byte) error {
	return c.short(ctx, "Approve", func(ctx context.Context) error {
		_, err := c.rpc.Approve(ctx, wirepb.ApproveRequest_builder{Envelope: envelope}.Build())
		return err
	})
}

// Health asks whether the study works at the coordinator.
func (c *Client) Health(ctx context.Context) (works bool, err error) {
	var m *healthpb.HealthCheckResponse
	err = c.short(ctx, "Check", func(ctx context.Context) (err error) {
		m, err = healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{})
		return err
	})
	return m.GetStatus() == healthpb.HealthCheckResponse_SERVING, err
}

// short makes a call of one question and one answer until it is answered.
func (c *Client) short(ctx context.Context, method string, call func(context.Context) error) error {
	e := c.begin(ctx, c.timing.patience)
	defer e.end()
	for {
		err := c.once(e.ctx, call)
		c.observer.Called(method, outcome(err))
		if err == nil {
			return nil
		}
		if err := e.failed(err); err != nil {
			return err
		}
	}
}

func (c *Client) once(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.inVersion(ctx), c.timing.call)
	defer cancel()
	return call(ctx)
}
