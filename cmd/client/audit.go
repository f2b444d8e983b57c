package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"fedpvi/client"
	"fedpvi/internal/audit"
	"fedpvi/internal/audit/collector"
	"fedpvi/internal/cli"
)

func (c *commands) openAudit(ctx context.Context) error {
	if len(c.Audit) == 0 {
		return nil
	}
	const name = "fedpvi-client"
	destinations, sinks, err := collector.Open(ctx, name, c.Audit)
	if err != nil {
		return &client.UsageError{Err: err}
	}
	log := c.logger()
	c.audited, err = audit.Open(destinations, audit.Options{Program: name, Others: sinks, Wrote: func(err error) {
		if err != nil {
			log.Error("a line of the audit log was lost", "error", err)
		}
	}})
	if err != nil {
		return &client.UsageError{Err: err}
	}
	return nil
}

// order writes an order of this user to the audit log before it is carried out. The caller must
// call end with the order's result, which end returns unchanged.
func (c *commands) order(order string, attrs ...slog.Attr) (end func(error) error) {
	return c.audited.Begin(audit.User(os.Getuid(), os.Getpid()), order, attrs...)
}

func ofStudy(m *client.Member) []slog.Attr {
	return []slog.Attr{slog.String("study", m.Study.Name), slog.String("digest", m.Hash.String())}
}

// approve records that the data holder consents to a study and confirms its digest. The audit log
// gets a line for the order, and another if there is an error.
func (c *commands) approve(k *client.Client, m *client.Member, policy *client.Policy, dataset string, digest func() (string, error)) (client.Terms, error) {
	end := c.order("approve", append(ofStudy(m), slog.String("dataset", dataset), slog.String("policy", policy.Hash.String()))...)
	confirmed, err := digest()
	if err != nil {
		return client.Terms{}, end(err)
	}
	t, err := k.Approve(m, policy, dataset, confirmed)
	return t, end(err)
}

// auditConfiguration writes the configuration of a run to the audit log. It does so after the
// records have been read and before the first connection. If it wrote earlier, the line would
// reveal how long reading took, which depends on the records.
func (r *runCommand) auditConfiguration(c *commands, k *client.Client, m *client.Member, policy *client.Policy) {
	attrs := append(audit.User(os.Getuid(), os.Getpid()), ofStudy(m)...)
	fingerprint, err := k.Fingerprint()
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	c.audited.Write(audit.Configuration, slog.LevelInfo, append(attrs,
		slog.String("version", cli.Version()), slog.String("client", string(m.Name)), slog.String("fingerprint", fingerprint.String()),
		slog.String("coordinator", m.Coordinator.String()), slog.Any("addresses", m.Addresses), slog.String("state", k.Store().Dir()),
		slog.String("policy", policy.Hash.String()), slog.String("proxy", r.Proxy), slog.String("gossip", r.Gossip), slog.String("metrics", r.Metrics), slog.String("web", r.Web), slog.String("web_origin", r.WebOrigin),
		slog.String("device", fmt.Sprint(r.Device)), slog.Duration("round_deadline", r.Deadline), slog.Duration("patience", r.Patience), slog.Duration("poll", r.Poll),
		slog.Any("audit", c.Audit))...)
}
