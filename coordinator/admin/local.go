package admin

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/internal/audit"
	"fedpvi/pvi/session"
)

// Local carries out orders on a hub in this process. Before it carries out an order, it writes the
// order and the user to the audit log. If the order fails, it also logs the error. Status requests
// are not logged.
type Local struct {
	Hub *coordinator.Hub
	Log *audit.Log // nil if the orders are not logged
}

var _ API = Local{}

// begin writes an order to the audit log. The caller must pass the order's error to end, which logs
// it and returns it.
func (l Local) begin(ctx context.Context, order string, attrs ...slog.Attr) (end func(error) error) {
	g := giverOf(ctx)
	return l.Log.Begin(audit.User(g.uid, g.pid), order, attrs...)
}

func (l Local) order(ctx context.Context, order, study string, do func(*coordinator.Study) error, attrs ...slog.Attr) error {
	end := l.begin(ctx, order, append([]slog.Attr{slog.String("study", study)}, attrs...)...)
	s, err := l.Hub.Study(study)
	if err == nil {
		err = do(s)
	}
	return end(err)
}

func names(all []identity.Name) slog.Attr {
	texts := make([]string, len(all))
	for i, name := range all {
		texts[i] = string(name)
	}
	return slog.String("clients", strings.Join(texts, ","))
}

// Found implements [API].
func (l Local) Found(ctx context.Context, f Founding) (*Founded, error) {
	end := l.begin(ctx, "init", slog.String("file", f.File), names(f.Clients), slog.String("addresses", strings.Join(f.Addresses, ",")))
	founding := coordinator.Founding{File: f.File, Document: f.Document, Name: f.Name, Addresses: f.Addresses}
	s, invited, err := l.Hub.Found(founding, f.Clients, f.Valid)
	if err != nil {
		return nil, end(err)
	}
	l.Log.Write(audit.Study, slog.LevelInfo, slog.String("study", s.Name()), slog.String("digest", s.Digest()), slog.String("state", "added"))
	return &Founded{Study: s.Name(), Digest: s.Digest(), Coordinator: l.Hub.Fingerprint(), Invited: invited}, end(nil)
}

// Invite implements [API].
func (l Local) Invite(ctx context.Context, i Invitation) (invited []coordinator.Invited, err error) {
	err = l.order(ctx, "invite", i.Study, func(s *coordinator.Study) (err error) {
		invited, err = s.Invite(ctx, i.Clients, i.Valid)
		return err
	}, names(i.Clients))
	return invited, err
}

// Status implements [API].
func (l Local) Status(ctx context.Context, study string) ([]coordinator.Status, error) {
	studies := l.Hub.Studies()
	if study != "" {
		s, err := l.Hub.Study(study)
		if err != nil {
			return nil, err
		}
		studies = []*coordinator.Study{s}
	}
	all := []coordinator.Status{}
	for _, s := range studies {
		status, err := s.Status(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, status)
	}
	return all, nil
}

// Begin implements [API].
func (l Local) Begin(ctx context.Context, study string) error {
	return l.order(ctx, "start", study, func(s *coordinator.Study) error { return s.Begin(ctx) })
}

// Exclude implements [API].
func (l Local) Exclude(ctx context.Context, study string, client identity.Name, reason string) error {
	return l.order(ctx, "exclude", study, func(s *coordinator.Study) error { return s.Exclude(ctx, client, reason) },
		slog.String("client", string(client)), slog.String("reason", reason))
}

// Revoke implements [API].
func (l Local) Revoke(ctx context.Context, study string, client identity.Name, reason string) error {
	return l.order(ctx, "revoke", study, func(s *coordinator.Study) error { return s.Revoke(ctx, client, reason) },
		slog.String("client", string(client)), slog.String("reason", reason))
}

// Rotate implements [API].
func (l Local) Rotate(ctx context.Context, study string) error {
	return l.order(ctx, "rotate", study, func(s *coordinator.Study) error { return s.Rotate(ctx) })
}

// Abort implements [API].
func (l Local) Abort(ctx context.Context, study, reason string) error {
	return l.order(ctx, "abort", study, func(s *coordinator.Study) error { return s.Abort(ctx, reason) }, slog.String("reason", reason))
}

// Posterior implements [API].
func (l Local) Posterior(ctx context.Context, study string) (p *session.Posterior, err error) {
	err = l.order(ctx, "posterior", study, func(s *coordinator.Study) (err error) {
		p, err = s.Posterior(ctx)
		return err
	})
	return p, err
}

// Bundle implements [API].
func (l Local) Bundle(ctx context.Context, study string, w io.Writer) error {
	return l.order(ctx, "bundle", study, func(s *coordinator.Study) error { return s.WriteBundle(w) })
}

// A giver is the process that gave an order.
type giver struct{ uid, pid int }

type giverKey struct{}

// giverOf returns the process that gave an order. This is the process at the other end of the
// connection, or the present process if ctx has no connection.
func giverOf(ctx context.Context) giver {
	if g, ok := ctx.Value(giverKey{}).(giver); ok {
		return g
	}
	return giver{os.Getuid(), os.Getpid()}
}
