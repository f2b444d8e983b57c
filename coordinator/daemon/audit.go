package daemon

import (
	"log/slog"
	"net"

	"fedpvi/crypto/channel"
	"fedpvi/internal/audit"
	"fedpvi/internal/cli"
	"fedpvi/transport"
)

// Name is the name of the program in audit logs.
const Name = "fedpvi-coordinator"

func (s *server) openAudit() (*audit.Log, error) {
	if len(s.config.Audit)+len(s.config.AuditTo) == 0 {
		return nil, nil
	}
	return audit.Open(s.config.Audit, audit.Options{Program: Name, Others: s.config.AuditTo, Wrote: func(err error) {
		s.metrics.Audited(err == nil)
		if err != nil {
			s.config.Log.Error("a line of the audit log was lost", "error", err)
		}
	}})
}

// auditConfiguration writes the daemon's configuration to the audit log. serves is the address that
// clients connect to.
func (s *server) auditConfiguration(serves net.Addr) {
	c := s.config
	studies := []string{}
	for _, study := range s.hub.Studies() {
		studies = append(studies, study.Digest())
	}
	balancers := []string{}
	for _, b := range c.Balancers {
		balancers = append(balancers, b.String())
	}
	s.audit.Write(audit.Configuration, slog.LevelInfo,
		slog.String("version", cli.Version()), slog.String("coordinator", s.hub.Fingerprint().String()), slog.String("state", c.Dir),
		slog.String("listen", serves.String()), slog.String("metrics", c.Metrics), slog.String("gossip", c.Gossip), slog.String("web", c.Web), slog.String("web_origin", c.WebOrigin),
		slog.Any("proxy_from", balancers), slog.Bool("traces", c.Traces != nil), slog.Duration("round_deadline", c.RoundDeadline),
		slog.Bool("until_done", c.UntilDone), slog.Any("audit", c.Audit), slog.Any("studies", studies))
}

// auditor writes connections and refused calls to the audit log.
type auditor struct{ server *server }

var _ transport.Auditor = auditor{}

// Handshake implements [transport.Auditor].
func (a auditor) Handshake(from net.Addr, serverName string, peer channel.Party, err error) {
	attrs := []slog.Attr{slog.String("address", from.String())}
	level, outcome := slog.LevelInfo, "ok"
	if err != nil {
		level, outcome = slog.LevelWarn, err.Error()
	} else {
		attrs = append(attrs, a.peer(peer))
	}
	if study := a.server.hub.Serving(serverName); study != nil {
		attrs = append(attrs, slog.String("study", study.Name()))
	}
	a.server.audit.Limited(hostOf(from), audit.Handshake, level, append(attrs, slog.String("outcome", outcome))...)
}

// Denied implements [transport.Auditor].
func (a auditor) Denied(from net.Addr, peer channel.Party, method, reason string) {
	a.server.audit.Limited(hostOf(from), audit.Denial, slog.LevelWarn,
		slog.String("address", from.String()), a.peer(peer), slog.String("method", method), slog.String("reason", reason))
}

// peer returns an attribute with the peer's name, or "guest" if the peer has no certificate.
func (auditor) peer(p channel.Party) slog.Attr {
	if p == (channel.Party{}) {
		return slog.String("peer", "guest")
	}
	return slog.String("peer", string(p.Name))
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
