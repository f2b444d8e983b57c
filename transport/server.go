package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"fedpvi/crypto/channel"
	"fedpvi/transport/internal/wirepb"
)

// ServerConfig configures a [Server]. The zero value is ready for use.
type ServerConfig struct {
	// RoundDeadline is the time limit for a round. 0 means 10 minutes. All other time limits are
	// fractions of it.
	RoundDeadline time.Duration
	Limits        Limits
	Log           *slog.Logger
	Observer      Observer
	Auditor       Auditor // hears about connections and refused calls; nil to report none
	// Balancers are the networks of load balancers. A connection from there must begin with a PROXY
	// protocol header, version 1 or 2, and counts under the address in it. Other connections must
	// not have such a header.
	Balancers []netip.Prefix
	// Trace, unless nil, is called when a call begins. end is called when it ends, with an outcome
	// as in [Observer.Called]. Calls of Follow are not traced, because they wait for new entries.
	Trace func(method string) (end func(outcome string))
}

// Study configures a study for [Server.Add].
type Study struct {
	// Document is the SHA-256 of the study document. It determines the TLS server name (see
	// channel.ServerName).
	Document channel.Hash
	// TLS returns a configuration from channel.Server. It is called for each connection, because
	// certificates and keys may have been renewed.
	TLS         func() *tls.Config
	Coordinator Coordinator // handles the calls of the study's parties
	MaxRelease  int64       // maximum size of a release's body, in bytes
	// Seen, unless nil, is called whenever bytes arrive from a client, even if they only answer
	// pings. It must be fast.
	Seen func(channel.Party)
}

// served is a study on a server. When the server shuts down, the study's context ends, and with it
// all calls.
type served struct {
	Study
	ctx     context.Context
	end     context.CancelCauseFunc
	health  *health.Server
	uploads uploads
	hashes  hashes
}

// A Server serves several studies on one port. A client chooses a study by the TLS server name.
type Server struct {
	timing   timing
	log      *slog.Logger
	observer Observer
	auditor  Auditor
	trace    func(method string) (end func(outcome string))
	door     *door
	tls      *tls.Config
	grpc     *grpc.Server
	versions versions

	mu      sync.RWMutex
	studies map[string]*served
	closed  bool
}

// NewServer returns a server without studies.
func NewServer(c ServerConfig) (*Server, error) {
	t, err := deriveTiming(c.RoundDeadline)
	if err != nil {
		return nil, err
	}
	s := &Server{timing: t, log: c.Log, observer: c.Observer, auditor: c.Auditor, trace: c.Trace, versions: ours, studies: map[string]*served{}}
	if s.trace == nil {
		s.trace = func(string) func(string) { return func(string) {} }
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.observer == nil {
		s.observer = blind{}
	}
	if s.auditor == nil {
		s.auditor = unaudited{}
	}
	c.Limits, c.Observer, c.Auditor = c.Limits.withDefaults(), s.observer, s.auditor
	s.door = newDoor(c)
	s.tls = channel.Serve(func(name string) *tls.Config {
		if study := s.find(name); study != nil {
			return withHTTP2(study.TLS())
		}
		return nil
	})
	s.grpc = grpc.NewServer(s.options(c.Limits)...)
	wirepb.RegisterStudyServer(s.grpc, service{server: s})
	healthpb.RegisterHealthServer(s.grpc, healthOfStudies{})
	return s, nil
}

func (s *Server) options(limits Limits) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(serverSide{server: s}),
		grpc.ForceServerCodecV2(codec{}),
		grpc.InTapHandle(s.admit),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(maxAsked),
		grpc.MaxSendMsgSize(maxAnswer),
		grpc.MaxConcurrentStreams(uint32(limits.Calls)),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(s.timing.handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: s.timing.ping, Timeout: s.timing.pong, MaxConnectionIdle: s.timing.patience}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: fastestPing / 2, PermitWithoutStream: true}),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		// The buffers are small, so that idle connections take little memory.
		grpc.ReadBufferSize(4 << 10),
		grpc.WriteBufferSize(16 << 10),
	}
}

// Add begins to serve a study.
func (s *Server) Add(study Study) error {
	if study.TLS == nil || study.Coordinator == nil || study.MaxRelease <= 0 {
		return errors.New("a study needs a TLS configuration, a coordinator and the size of its largest release")
	}
	name := channel.ServerName(study.Document)
	ctx, end := context.WithCancelCause(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		end(nil)
		return errors.New("the server is shut down")
	}
	if s.studies[name] != nil {
		end(nil)
		return errors.New("the study is already served")
	}
	s.studies[name] = &served{
		Study: study, ctx: ctx, end: end, health: health.NewServer(),
		uploads: uploads{active: map[uploadKey]*uploading{}},
	}
	return nil
}

// Drop closes a party's connections because its TLS key is no longer valid. A handshake in progress
// will check the key again before it ends.
func (s *Server) Drop(party channel.Party) { s.door.drop(party) }

// Connected reports whether any party has an open connection. Strangers and guests do not count.
func (s *Server) Connected() bool { return s.door.connected() }

func (s *Server) find(name string) *served {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.studies[name]
}

// Serve accepts connections from a listener and serves them until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(guardedListener{l, s.door}); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting calls and cancels the contexts of those that are running. It waits until
// they have ended or ctx is done.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	for _, study := range s.studies {
		study.health.Shutdown()
		study.end(refuse(Unavailable, "the coordinator is shutting down"))
	}
	s.mu.Unlock()
	defer context.AfterFunc(ctx, s.grpc.Stop)()
	s.grpc.GracefulStop()
}
