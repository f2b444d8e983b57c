package client

import (
	"errors"
	"log/slog"

	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/audit"
	"fedpvi/pvi/session"
	"fedpvi/transport"
)

// note writes a log line about a study to the audit log. No attribute may depend on records, except
// through the sums of released answers. The time of a log line must not show how long this client
// read or processed its records.
func (c *Client) note(m *Member, event string, level slog.Level, attrs ...slog.Attr) {
	c.audit.Write(event, level, append([]slog.Attr{slog.String("study", m.Study.Name), slog.String("digest", m.Hash.String())}, attrs...)...)
}

func (c *Client) noteKeys(m *Member, e roster.Entry) {
	c.note(m, audit.Keys, slog.LevelWarn, slog.String("party", string(e.Name)), slog.String("fingerprint", e.Key.Fingerprint().String()))
}

// handshakes returns a function that writes connection attempts to the audit log. If there is no
// audit log, it returns nil. The fingerprint coordinator is the one that is expected at the
// addresses.
func (c *Client) handshakes(coordinator string) func(address string, err error) {
	if c.audit == nil {
		return nil
	}
	return func(address string, err error) {
		level, outcome := slog.LevelInfo, "ok"
		var impostor *transport.Impostor
		if err != nil {
			level, outcome = slog.LevelWarn, "unreachable"
		}
		attrs := []slog.Attr{slog.String("address", address), slog.String("coordinator", coordinator)}
		if errors.As(err, &impostor) {
			level, outcome = slog.LevelError, "another party"
		}
		if attrs = append(attrs, slog.String("outcome", outcome)); err != nil {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		c.audit.Limited(address, audit.Handshake, level, attrs...)
	}
}

// noteEntry logs an entry that changes the study or the roster to the audit log.
func (a *participant) noteEntry(e transcript.Entry, before session.History) {
	c, m, now := a.client, a.member, a.history()
	switch {
	case e.Kind == transcript.Roster && e.Number == 1:
		names := []string{}
		for _, id := range clientsOf(a.chain.Members()) {
			names = append(names, string(id))
		}
		c.note(m, audit.Study, slog.LevelInfo, slog.String("state", "began"), slog.Any("clients", names))
	case e.Kind == transcript.Roster:
		c.note(m, audit.Roster, slog.LevelWarn, slog.Uint64("entry", e.Number))
	case e.Kind == transcript.End:
		c.note(m, audit.Study, slog.LevelInfo, slog.String("state", "ended"))
	case e.Kind == transcript.Abort:
		c.note(m, audit.Study, slog.LevelWarn, slog.String("state", "aborted"), slog.String("by", a.at.Ended.By), slog.String("reason", a.at.Ended.Reason))
	case now.Accepted > before.Accepted:
		a.noteVerdict(e.Ask, slog.LevelInfo, "accepted")
	case now.Rejected > before.Rejected:
		a.noteVerdict(e.Ask, slog.LevelWarn, "rejected")
	case now.Void > before.Void:
		a.noteVerdict(e.Ask, slog.LevelWarn, "void")
	}
}

func (a *participant) noteVerdict(ask uint64, level slog.Level, verdict string) {
	a.client.note(a.member, audit.Verdict, level, slog.Uint64("plan", ask), slog.String("verdict", verdict))
}

// noteAnswer logs an answer and its charge to the audit log. It is called when the answer is sent,
// which the coordinator sees anyway. The time when the answer was computed depends on records, and
// must not be logged.
func (a *participant) noteAnswer(ask uint64, level slog.Level, outcome string) {
	if a.client.audit == nil {
		return
	}
	attrs := []slog.Attr{slog.Uint64("plan", ask), slog.String("outcome", outcome)}
	if e, err := a.client.store.Charged(a.member.Hash, ask); err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	} else {
		attrs = append(attrs, slog.String("dataset", e.Dataset), slog.Uint64("entry", e.Sequence), slog.String("view", e.Charge.View), slog.Float64("cost", e.Charge.Cost))
		if account, ok := a.client.store.Account(e.Dataset); ok {
			attrs = append(attrs, slog.String("counted_in", account.Unit))
		}
	}
	a.client.note(a.member, audit.Answer, level, attrs...)
}
