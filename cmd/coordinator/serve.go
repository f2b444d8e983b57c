package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"fedpvi/coordinator/daemon"
	"fedpvi/internal/audit/collector"
	"fedpvi/internal/cli"
)

type serveCommand struct {
	Listen        string        `help:"Address at which to listen for clients, host:port. Default: the port that invitations name, on all addresses of this machine." placeholder:"HOST:PORT"`
	Metrics       string        `help:"Address that serves metrics (/metrics) and health (/healthz), host:port. Default: none." placeholder:"HOST:PORT"`
	Web           string        `help:"Address of this machine that serves pages to watch studies in a browser, host:port. The first login link is printed at a terminal, and the file login.url in the state directory has the next one. Default: none." placeholder:"HOST:PORT"`
	WebOrigin     string        `help:"With --web: origin at which browsers reach the pages through a proxy with TLS, as in https://fedpvi.example.org." placeholder:"URL"`
	Traces        string        `help:"Address of a collector for OpenTelemetry traces, OTLP over HTTP. Traces contain the times of answers. Default: none." placeholder:"URL"`
	ProxyFrom     []string      `help:"Addresses or networks of load balancers that begin each connection with a header of the PROXY protocol, version 1 or 2, as in 192.0.2.8 or 10.0.0.0/24. Connections from there without a header are refused, and so are headers from elsewhere. Default: none." placeholder:"NETWORK,..."`
	Gossip        string        `help:"IP address and port of this machine for gossip with clients, UDP and TCP. Default: no gossip." placeholder:"IP:PORT"`
	RoundDeadline time.Duration `help:"How long a round waits for clients that have not answered." default:"10m" placeholder:"TIME"`
	UntilDone     bool          `help:"Stop when every study is over."`
	Log           string        `help:"Format of the log: text, json, or auto for text on a terminal." default:"auto" enum:"auto,text,json"`
	Verbose       bool          `short:"v" help:"Log more."`
}

func (serveCommand) Help() string {
	return `Examples:

  coordinator serve
  coordinator serve --listen :7443 --metrics 127.0.0.1:9443
  coordinator serve --web 127.0.0.1:8441
  coordinator serve --web 127.0.0.1:8441 --web-origin https://fedpvi.example.org
  coordinator serve --round-deadline 1h --until-done
  coordinator serve --traces http://127.0.0.1:4318
  coordinator serve --gossip 192.0.2.7:7946
  coordinator serve --proxy-from 192.0.2.8
  coordinator serve --audit /var/log/fedpvi/audit.log --audit syslog:///dev/log

The log goes to standard error. The coordinator may be stopped and started again at any time:
the same round continues.

Clients connect to it and need no open port. Clients that can be reached may gossip as well,
with their flag --gossip: then status and watch show sooner that a client is gone. Nothing else
depends on gossip.`
}

func (c *serveCommand) Validate() error {
	if c.RoundDeadline < time.Second {
		return fmt.Errorf("--round-deadline %v: give at least a second", c.RoundDeadline)
	}
	if c.WebOrigin != "" && c.Web == "" {
		return errors.New("--web-origin needs --web: give both")
	}
	_, err := c.balancers()
	return err
}

// balancers parses the networks in the flag --proxy-from.
func (c *serveCommand) balancers() (all []netip.Prefix, err error) {
	for _, text := range c.ProxyFrom {
		p, err := netip.ParsePrefix(text)
		if a, e := netip.ParseAddr(text); e == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("--proxy-from %s: give the address or the network of a load balancer, as in 192.0.2.8 or 10.0.0.0/24", text)
		}
		all = append(all, p)
	}
	return all, nil
}

func (c *serveCommand) Run(e *environment) error {
	if err := e.founded(); err != nil {
		return err
	}
	balancers, err := c.balancers()
	if err != nil {
		return err
	}
	destinations, sinks, err := collector.Open(e.ctx, daemon.Name, e.audit)
	if err != nil {
		return err
	}
	config := daemon.Config{
		Audit: destinations, AuditTo: sinks, Balancers: balancers,
		Dir: e.state, Unlock: e.unlock, Listen: c.Listen, Metrics: c.Metrics, Gossip: c.Gossip,
		RoundDeadline: c.RoundDeadline, UntilDone: c.UntilDone, Log: c.logger(e.quiet), Web: c.Web, WebOrigin: c.WebOrigin,
	}
	if cli.Terminal(os.Stderr) && !e.quiet {
		// only on a terminal, because logs can be sent to other machines
		config.Announce = func(link string) { fmt.Fprintf(os.Stderr, "Pages, with a login link that is valid once: %s\n", link) }
	}
	if c.Traces != "" {
		traces, stop, err := tracesTo(e.ctx, c.Traces)
		if err != nil {
			return err
		}
		defer stop()
		config.Traces = traces
	}
	err = daemon.Serve(e.ctx, config)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return fmt.Errorf("%w: choose another port with --listen, --metrics, --web or --gossip", err)
	}
	return err
}

// logger returns a logger for standard error. If quiet is true, it writes only warnings and errors.
func (c *serveCommand) logger(quiet bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	switch {
	case quiet:
		o.Level = slog.LevelWarn
	case c.Verbose:
		o.Level = slog.LevelDebug
	}
	if c.Log == "text" || c.Log == "auto" && cli.Terminal(os.Stderr) {
		return slog.New(slog.NewTextHandler(os.Stderr, o))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, o))
}
