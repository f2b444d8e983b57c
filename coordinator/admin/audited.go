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

// An Audited wraps another API and writes each order to the audit log before the order is carried
// out, with the user who gave the order. If the order fails, Audited also writes the error.
// Requests for the status are not written, because they change nothing and reveal nothing.
type Audited struct {
	API
	Log *audit.Log
}

var _ API = Audited{}

// begin writes an order to the audit log. The returned function writes the error of the order to
// the log if there is one, and returns this error.
func (a Audited) begin(ctx context.Context, order string, attrs ...slog.Attr) (end func(error) error) {
	g := giverOf(ctx)
	return a.Log.Begin(audit.User(g.uid, g.pid), order, attrs...)
}

func names(all []identity.Name) slog.Attr {
	texts := make([]string, len(all))
	for i, name := range all {
		texts[i] = string(name)
	}
	return slog.String("clients", strings.Join(texts, ","))
}

// Found implements [API].
func (a Audited) Found(ctx context.Context, f Founding) (*Founded, error) {
	end := a.begin(ctx, "init", slog.String("file", f.File), names(f.Clients), slog.String("addresses", strings.Join(f.Addresses, ",")))
	founded, err := a.API.Found(ctx, f)
	if err == nil {
		a.Log.Write(audit.Study, slog.LevelInfo, slog.String("study", founded.Study), slog.String("digest", founded.Digest), slog.String("state", "added"))
	}
	return founded, end(err)
}

// Invite implements [API].
func (a Audited) Invite(ctx context.Context, i Invitation) ([]coordinator.Invited, error) {
	end := a.begin(ctx, "invite", slog.String("study", i.Study), names(i.Clients))
	invited, err := a.API.Invite(ctx, i)
	return invited, end(err)
}

// Begin implements [API].
func (a Audited) Begin(ctx context.Context, study string) error {
	end := a.begin(ctx, "start", slog.String("study", study))
	return end(a.API.Begin(ctx, study))
}

// Exclude implements [API].
func (a Audited) Exclude(ctx context.Context, study string, client identity.Name, reason string) error {
	end := a.begin(ctx, "exclude", slog.String("study", study), slog.String("client", string(client)), slog.String("reason", reason))
	return end(a.API.Exclude(ctx, study, client, reason))
}

// Revoke implements [API].
func (a Audited) Revoke(ctx context.Context, study string, client identity.Name, reason string) error {
	end := a.begin(ctx, "revoke", slog.String("study", study), slog.String("client", string(client)), slog.String("reason", reason))
	return end(a.API.Revoke(ctx, study, client, reason))
}

// Rotate implements [API].
func (a Audited) Rotate(ctx context.Context, study string) error {
	end := a.begin(ctx, "rotate", slog.String("study", study))
	return end(a.API.Rotate(ctx, study))
}

// Abort implements [API].
func (a Audited) Abort(ctx context.Context, study, reason string) error {
	end := a.begin(ctx, "abort", slog.String("study", study), slog.String("reason", reason))
	return end(a.API.Abort(ctx, study, reason))
}

// Posterior implements [API].
func (a Audited) Posterior(ctx context.Context, study string) (*session.Posterior, error) {
	end := a.begin(ctx, "posterior", slog.String("study", study))
	p, err := a.API.Posterior(ctx, study)
	return p, end(err)
}

// Bundle implements [API].
func (a Audited) Bundle(ctx context.Context, study string, w io.Writer) error {
	end := a.begin(ctx, "bundle", slog.String("study", study))
	return end(a.API.Bundle(ctx, study, w))
}

// A giver is the process that gave an order.
type giver struct{ uid, pid int }

type giverKey struct{}

// giverOf returns the process that gave an order. If ctx has the connection of the order, this is
// the process at the other end. Otherwise it is the current process.
func giverOf(ctx context.Context) giver {
	if g, ok := ctx.Value(giverKey{}).(giver); ok {
		return g
	}
	return giver{os.Getuid(), os.Getpid()}
}
