package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/pages"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/keyfile"
	"fedpvi/internal/audit"
	"fedpvi/internal/web"
	"fedpvi/transport"
)

// Config configures [Serve].
type Config struct {
	// Unlock opens the key files if they are protected.
	Unlock keyfile.Unlock
	Dir    string // state directory
	// Listen is the address for clients, host:port. If it is empty, the coordinator listens on all
	// addresses of this machine, on the port in the invitations.
	Listen  string
	Metrics string // host:port for metrics and health check; empty for none
	Gossip  string // IP address and port for gossip; empty to disable it
	// Web is the address (host:port) of the operator's pages, and WebOrigin the origin of a proxy
	// in front of them. Either may be empty. Announce, unless nil, receives the first login link.
	Web, WebOrigin string
	Announce       func(link string)

	RoundDeadline time.Duration
	UntilDone     bool // return once every study is over and all clients have received the last entry and disconnected
	Log           *slog.Logger
	Traces        trace.TracerProvider // receives traces; nil to disable them
	// Audit lists where the audit log goes, as in audit.Open. AuditTo adds further sinks.
	Audit   []string
	AuditTo []audit.Sink
	// Balancers are the networks of load balancers that send a PROXY protocol header.
	Balancers []netip.Prefix
	// Ready, unless nil, is called as soon as clients can connect. It gets the address for clients,
	// and the address for metrics or nil.
	Ready func(clients, metrics net.Addr)
}

// maxHeader is the maximum header size of a metrics request, in bytes.
const maxHeader = 8 << 10

// farewell is how long a stopping daemon waits for running calls.
const farewell = 10 * time.Second

// A server contains everything that a daemon must close.
type server struct {
	config  Config
	metrics *metrics
	audit   *audit.Log
	hub     *coordinator.Hub
	clients *transport.Server
	orders  *http.Server
	monitor *http.Server // nil without metrics
	pages   *web.Site    // nil without pages
	gossip  *gossip      // nil without gossip
	failed  chan error
}

// glances is how long a starting coordinator waits for commands such as watch, which briefly open
// the state directory.
const glances = 10 * time.Second

// Serve runs a coordinator until ctx is done or, with UntilDone, until every study is over. If it
// can no longer serve one of its ports, it stops and returns an error. When Serve returns, all
// state is on disk, and the next call continues from there.
func Serve(ctx context.Context, c Config) (err error) {
	if c.RoundDeadline == 0 {
		c.RoundDeadline = transport.DefaultRoundDeadline
	}
	s := &server{config: c, metrics: newMetrics(), failed: make(chan error, 5)}
	if _, err := admin.Dial(ctx, c.Dir); err == nil {
		return fmt.Errorf("%s: %w", c.Dir, store.ErrHeld)
	}
	if s.audit, err = s.openAudit(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.audit.Close()) }()
	traced := traceTo(c.Traces)
	s.hub, err = coordinator.Open(c.Dir, coordinator.Options{
		Unlock: c.Unlock,
		Log:    c.Log, Events: s.metrics, Audit: s.audit, Trace: traced, RoundDeadline: c.RoundDeadline, Store: store.Options{Wait: glances},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.hub.Close()) }()
	s.clients, err = transport.NewServer(transport.ServerConfig{
		RoundDeadline: c.RoundDeadline, Log: c.Log, Observer: s.metrics, Auditor: auditor{s}, Balancers: c.Balancers, Trace: traced,
	})
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
	s.notify("STOPPING=1")
	err = errors.Join(err, s.stop())
	s.audit.Write(audit.Stop, slog.LevelInfo)
	return err
}

const (
	// longAnswer is the size in bytes from which answers take most of the memory that a round
	// needs.
	longAnswer = 4 << 20
	// oftener is the garbage collector's target percentage for studies with long answers. With Go's
	// default of 100, they would need twice the memory. Frequent collections are cheap, because the
	// live heap consists of a few long slices.
	oftener = 15
)

func (s *server) add(study *coordinator.Study) {
	if _, chosen := os.LookupEnv("GOGC"); !chosen && study.LargestBody() >= longAnswer {
		debug.SetGCPercent(oftener)
	}
	err := s.clients.Add(transport.Study{
		Document: study.Hash(), TLS: study.TLS, Coordinator: study,
		MaxRelease: study.LargestBody(), Seen: study.Seen,
	})
	if err != nil {
		s.config.Log.Error("cannot serve a study", "study", study.Name(), "error", err)
		return
	}
	study.OnDrop(s.clients.Drop)
	if s.gossip != nil {
		s.gossip.add(study)
	}
}

func (s *server) listen(ctx context.Context) error {
	orders, err := admin.Listen(s.config.Dir)
	if err != nil {
		return err
	}
	s.orders = admin.NewServer(admin.Local{Hub: s.hub, Log: s.audit})
	s.serve("orders", func() error { return s.orders.Serve(orders) })
	if err := s.openPages(ctx); err != nil {
		return err
	}
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
	address := s.config.Listen
	if address == "" {
		if address, err = invited(s.hub.Studies()); err != nil {
			return err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for clients: %w", err)
	}
	s.serve("clients", func() error { return s.clients.Serve(l) })
	s.config.Log.Info("serving", "address", l.Addr().String(), "studies", len(s.hub.Studies()), "coordinator", s.hub.Fingerprint().Short())
	s.auditConfiguration(l.Addr())
	if s.config.Ready != nil {
		s.config.Ready(l.Addr(), monitored)
	}
	s.notify("READY=1")
	return nil
}

func (s *server) notify(state string) {
	if err := notify(state); err != nil {
		s.config.Log.Warn("cannot notify the service manager", "error", err)
	}
}

// openPages serves the operator's pages if they are configured.
func (s *server) openPages(ctx context.Context) (err error) {
	if s.config.Web == "" {
		return nil
	}
	s.pages, err = pages.Open(ctx, pages.Config{
		Hub: s.hub, Orders: admin.Local{Hub: s.hub, Log: s.audit},
		Address: s.config.Web, Origin: s.config.WebOrigin, LinkFile: filepath.Join(s.config.Dir, web.LinkFile), Announce: s.config.Announce,
	})
	if err != nil {
		return fmt.Errorf("--web: %w", err)
	}
	s.serve("pages", s.pages.Serve)
	s.config.Log.Info("serving pages", "address", s.pages.Address(), "login", filepath.Join(s.config.Dir, web.LinkFile))
	return nil
}

// invited returns the default listening address: all addresses of this machine, on the port in the
// invitations. It returns an error if there is no study, or if the invitations have different
// ports.
func invited(studies []*coordinator.Study) (string, error) {
	var all []string
	for _, study := range studies {
		for _, address := range study.Addresses() {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return "", err
			}
			all = append(all, port)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return "", errors.New("there is no study yet: choose an address with --listen")
	}
	if len(all) > 1 {
		return "", fmt.Errorf("the invitations name the ports %s: choose the one of this machine with --listen, as in --listen :%s", strings.Join(all, " and "), all[0])
	}
	return ":" + all[0], nil
}

// serve calls run in a new goroutine. If run fails, the daemon stops and returns the error.
func (s *server) serve(name string, run func() error) {
	go func() {
		if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serving %s: %w", name, err)
		}
	}()
}

// works returns an error if the coordinator cannot use its store or report the status of its
// studies.
func (s *server) works() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_, err := admin.Local{Hub: s.hub}.Status(ctx, "")
	return errors.Join(err, s.hub.Healthy())
}

// stop closes the listeners, and then waits for running calls, but no longer than farewell.
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
	if s.pages != nil {
		err = errors.Join(err, s.pages.Shutdown(ctx))
	}
	return err
}
