package coordinator

import (
	"context"
	"log/slog"

	"fedpvi/crypto/identity"
	"fedpvi/internal/audit"
	"fedpvi/pvi"
	"fedpvi/pvi/phase"
	"fedpvi/transport"
)

func (s *Study) audit(event string, level slog.Level, attrs ...slog.Attr) {
	s.hub.options.Audit.Write(event, level, append([]slog.Attr{slog.String("study", s.Name()), slog.String("digest", s.Digest())}, attrs...)...)
}

// auditMember writes a line about a client to the audit log, for example that it has joined. ctx is
// the context of the client's call, for the client's address.
func (s *Study) auditMember(ctx context.Context, event string, name identity.Name, attrs ...slog.Attr) {
	all := []slog.Attr{slog.String("client", string(name))}
	if a := transport.AddressOf(ctx); a != nil {
		all = append(all, slog.String("address", a.String()))
	}
	s.audit(event, slog.LevelInfo, append(all, attrs...)...)
}

func (s *Study) auditVerdict(ask uint64, verdict phase.Verdict) {
	level := slog.LevelInfo
	if verdict != pvi.Accepted {
		level = slog.LevelWarn
	}
	s.audit(audit.Verdict, level, slog.Uint64("plan", ask), slog.String("verdict", string(verdict)))
}
