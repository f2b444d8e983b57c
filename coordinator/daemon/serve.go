package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/store"
	"fedpvi/transport"
)

// Config says how to serve.
type Config struct {
	Dir           string // the state directory
	Listen        string // host:port for clients
	Metrics       string // host:port for metrics and health; empty for none
	Gossip        string // IP address and port for gossip; empty for none
	RoundDeadline time.Duration
	UntilDone     bool // stop when every study is over and its clients know
	Log           *slog.Logger
	Traces        trace.TracerProvider // where traces go; nil for nowhere
	// Ready, if not nil, is told the addresses when clients can connect.
	Ready func(clients, metrics net.Addr)
}

// maxHeader is the largest header of who asks for metrics, in bytes.
const maxHeader = 8 << 10

// farewell is how long calls that are under way may take when the daemon stops.
const farewell = 10 * time.Second

// A server is everything that a daemon has open.
type server struct {
	config  Config
	metrics *metrics
	hub     *coordinator.Hub
	clients *transport.Server
	orders  *http.Server
	monitor *http.Server // nil if there are no metrics
	gossip  *gossip      // nil if there is none
	failed  chan error
}

// glances is how long others may hold the state of a coordinator that starts: who looks at it
// while none serves, as watch does again and again.
const glances = 10 * time.Second

// Serve serves until ctx is done, or every study is over if that is asked for. What is on
// disk then is all there is: the next Serve goes on.
func Serve(ctx context.Context, c Config) (err error) {
	if c.RoundDeadline == 0 {
		c.RoundDeadline = transport.DefaultRoundDeadline
	}
	s := &server{config: c, metrics: newMetrics(), failed: make(chan error, 4)}
	if _, err := admin.Dial(ctx, c.Dir); err == nil {
		return fmt.Errorf("%s: %w", c.Dir, store.ErrHeld)
	}
	traced := traceTo(c.Traces)
	s.hub, err = coordinator.Open(c.Dir, coordinator.Options{
		Log: c.Log, Events: s.metrics, Trace: traced, RoundDeadline: c.RoundDeadline, Store: store.Options{Wait: glances},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.hub.Close()) }()
	s.clients, err = transport.NewServer(transport.ServerConfig{RoundDeadline: c.RoundDeadline, Log: c.Log, Observer: s.metrics, Trace: traced})
	if err != nil {
		return err
	}
	if c.Gossip != "" {
		if s.gossip, err = newGossip(c.Gossip, c.Log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.gossip.close()) }()
	}
	s.hub.OnStudy(s.add)
	if err := s.listen(ctx); err != nil {
		return errors.Join(err, s.stop())
	}
	over := s.watch(ctx)
	select {
	case <-ctx.Done():
		c.Log.Info("stopping")
	case <-over:
		c.Log.Info("every study is over, stopping")
	case err = <-s.failed:
	}
	if e := notify("STOPPING=1"); e != nil {
		c.Log.Warn("the service manager cannot be told", "error", e)
	}
	return errors.Join(err, s.stop())
}

const (
	// longAnswer is the size of answers, in bytes, from which on a round's numbers are most of the memory.
	longAnswer = 4 << 20
	// oftener is how much is allocated, in percent of what is in use, before the collector runs, where Go has
	// 100. What is in use is a few long lists of numbers, which take no time to look through.
	oftener = 15
)

// add serves a study.
func (s *server) add(study *coordinator.Study) {
	if _, chosen := os.LookupEnv("GOGC"); !chosen && study.LargestBody() >= longAnswer {
		debug.SetGCPercent(oftener)
	}
	config, err := study.TLS()
	if err == nil {
		err = s.clients.Add(transport.Study{
			Document: study.Hash(), TLS: config, Coordinator: study,
			MaxRelease: study.LargestBody(), Seen: study.Seen,
		})
	}
	if err != nil {
		s.config.Log.Error("a study cannot be served", "study", study.Name(), "error", err)
		return
	}
	s.clients.SetHealth(study.Hash(), true)
	if s.gossip != nil {
		s.gossip.add(study)
	}
}

// listen opens all ports and serves them.
func (s *server) listen(ctx context.Context) error {
	orders, err := admin.Listen(s.config.Dir)
	if err != nil {
		return err
	}
	s.orders = admin.NewServer(admin.Local{Hub: s.hub})
	s.serve("orders", func() error { return s.orders.Serve(orders) })
	var monitored net.Addr
	if s.config.Metrics != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Metrics)
		if err != nil {
			return fmt.Errorf("listening for metrics: %w", err)
		}
		s.monitor = &http.Server{
			Handler: s.metrics.handler(s.works), MaxHeaderBytes: maxHeader,
			ReadHeaderTimeout: farewell, ReadTimeout: farewell, WriteTimeout: 3 * farewell, IdleTimeout: 3 * farewell,
		}
		monitored = l.Addr()
		s.serve("metrics", func() error { return s.monitor.Serve(l) })
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listening for clients: %w", err)
	}
	s.serve("clients", func() error { return s.clients.Serve(l) })
	s.config.Log.Info("serving", "address", l.Addr().String(), "studies", len(s.hub.Studies()), "coordinator", s.hub.Fingerprint().Short())
	if s.config.Ready != nil {
		s.config.Ready(l.Addr(), monitored)
	}
	if err := notify("READY=1"); err != nil {
		s.config.Log.Warn("the service manager cannot be told", "error", err)
	}
	return nil
}

// serve runs a server, whose failure stops the daemon.
func (s *server) serve(what string, run func() error) {
	go func() {
		if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serving %s: %w", what, err)
		}
	}()
}

// works reports why the coordinator does not work.
func (s *server) works() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_, err := admin.Local{Hub: s.hub}.Status(ctx, "")
	return err
}

// stop lets calls finish and closes what is open.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	s.clients.Shutdown(ctx)
	var err error
	for _, h := range []*http.Server{s.orders, s.monitor} {
		if h != nil {
			err = errors.Join(err, h.Shutdown(ctx))
		}
	}
	return err
}
