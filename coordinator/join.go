package coordinator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/audit"
	"fedpvi/transport"
)

// certified is the validity period of a client's certificate. The certificate expires earlier if
// that of the study's authority does.
const certified = 90 * 24 * time.Hour

// Join implements [transport.Coordinator].
func (s *Study) Join(ctx context.Context, r transport.JoinRequest) (admission transport.Admission, err error) {
	defer func() { err = s.count("join", err) }()
	entry, err := roster.ParseEntry(r.Entry, s.hash)
	if err != nil {
		return admission, malformed("the entry for the roster", err)
	}
	if entry.Role != identity.Client {
		return admission, refuse(transport.Denied, "an invitation is for clients")
	}
	err = s.call(ctx, func(b *batch) error {
		authority, err := s.certifier.at(b.now)
		if err != nil {
			return b.undo(err)
		}
		certificate, err := b.join(ctx, r, entry, authority)
		if err != nil {
			return err
		}
		admission = transport.Admission{
			Study: s.fixed.Document, Authority: authority.Certificate(),
			Certificate: certificate, Coordinator: b.state.own.Bytes(),
		}
		return nil
	})
	if err != nil {
		return transport.Admission{}, err
	}
	return admission, nil
}

func (b *batch) join(ctx context.Context, r transport.JoinRequest, entry roster.Entry, authority *channel.Authority) (certificate []byte, err error) {
	s, st := b.study, b.state
	tickets, ticket, err := invitation.Redeem(st.tickets, s.hash, r.Token, entry.Key, b.now)
	if err != nil || ticket.Name != entry.Name {
		return nil, refuse(transport.Denied, "%v", invitation.ErrRefused)
	}
	party := channel.Party{Study: s.hash, Role: identity.Client, Name: entry.Name}
	issue := func() ([]byte, error) {
		certificate, err := authority.Issue(r.Request, party, entry.Key, entry.Pin, b.now, b.now.Add(certified))
		if err != nil {
			return nil, malformed("the request for a certificate", err)
		}
		return certificate, nil
	}
	if c := st.clients[entry.Name]; c != nil {
		if !bytes.Equal(c.entryBytes, r.Entry) {
			return nil, refuse(transport.OutOfPlace, "this invitation was redeemed with other keys: use the state directory that redeemed it, or ask for a new invitation")
		}
		return issue()
	}
	if st.over() {
		return nil, refuse(transport.Ended, "%s", st.ending())
	}
	if st.begun() {
		return nil, refuse(transport.OutOfPlace, "the study has begun without you: its roster is closed")
	}
	if st.keys.foreign(entry) {
		return nil, refuse(transport.Denied, "the roster entry has a key of another member: every client makes its own keys")
	}
	if certificate, err = issue(); err != nil {
		return nil, err
	}
	st.tickets = tickets
	st.keys.add(entry)
	st.clients[entry.Name] = &client{entry: entry, entryBytes: bytes.Clone(r.Entry), pin: entry.Pin}
	b.shows, st.since = true, b.now
	b.write(func(kept store.Study) error {
		return errors.Join(kept.PutTicket(string(ticket.Name), ticket), kept.Put(store.Entry, string(entry.Name), r.Entry))
	})
	b.then(func() {
		s.log.Info("a client joined", "client", entry.Name, "key", entry.Key.Fingerprint().Short())
		s.auditMember(ctx, audit.Join, entry.Name, slog.String("fingerprint", entry.Key.Fingerprint().String()))
	})
	return certificate, nil
}

// A keyring is the set of the members' public keys. No two members may share a key.
type keyring map[string]bool

// keysIn returns the three keys in a roster entry: the identity key, the pin (hash) of the TLS key,
// and the key with which others encrypt for the member.
func (keyring) keysIn(e roster.Entry) []string {
	return []string{"key " + string(e.Key[:]), "pin " + string(e.Pin[:]), "recipient " + e.Recipient.String()}
}

func (k keyring) add(e roster.Entry) {
	for _, key := range k.keysIn(e) {
		k[key] = true
	}
}

// foreign reports whether a roster entry has a key that belongs to another member.
func (k keyring) foreign(e roster.Entry) bool {
	return slices.ContainsFunc(k.keysIn(e), func(key string) bool { return k[key] })
}

// asClient runs do for a client that has joined. For other callers, it returns errPeer.
func (s *Study) asClient(ctx context.Context, peer channel.Party, do func(*batch, *client) error) error {
	if !s.knows(peer) {
		return errPeer
	}
	defer s.presence.begin(peer.Name)()
	return s.call(ctx, func(b *batch) error {
		c := b.state.clients[peer.Name]
		if c == nil || c.revoked {
			return errPeer
		}
		return do(b, c)
	})
}

// knows reports whether a peer is a client that has joined this study.
func (s *Study) knows(peer channel.Party) bool {
	return peer.Study == s.hash && peer.Role == identity.Client && s.joined(peer.Name)
}

func (s *Study) joined(name identity.Name) bool {
	_, ok := s.shown.Load().members[name]
	return ok
}

// Standing implements [transport.Coordinator].
func (s *Study) Standing(ctx context.Context, peer channel.Party) (standing transport.Standing, err error) {
	defer func() { err = s.count("standing", err) }()
	err = s.asClient(ctx, peer, func(b *batch, c *client) error {
		standing = transport.Standing{
			Entries: s.shown.Load().entries, Approved: c.approved && !c.left, Last: c.last, Gossip: s.gossips(), Renewals: slices.Clone(b.state.changes.Own),
		}
		return nil
	})
	return standing, err
}

// Approve implements [transport.Coordinator].
func (s *Study) Approve(ctx context.Context, peer channel.Party, envelope []byte) (err error) {
	defer func() { err = s.count("approve", err) }()
	return s.asClient(ctx, peer, func(b *batch, c *client) error {
		if why, err := transcript.VerifyLeave(envelope, c.entry.Key, s.hash); err == nil {
			return b.leave(ctx, peer.Name, c, envelope, why)
		}
		return b.approve(ctx, peer.Name, c, envelope)
	})
}

func (b *batch) approve(ctx context.Context, name identity.Name, c *client, envelope []byte) error {
	s := b.study
	h, err := transcript.VerifyApproval(envelope, c.entry.Key, s.hash, b.state.own.Key.Fingerprint())
	// The client may have sent its earlier consent again, with a signature by keys that were
	// replaced in the meantime.
	if err != nil && c.approved && !c.left {
		var kept map[string][]byte
		if err := s.look(func(st store.Study) (err error) {
			kept, err = st.All(store.Approval)
			return err
		}); err != nil {
			return b.undo(err)
		}
		if bytes.Equal(kept[string(name)], envelope) {
			return nil
		}
	}
	switch {
	case err != nil:
		return malformed("the approval", err)
	case c.left:
		return refuse(transport.OutOfPlace, "you left this study: ask the coordinator for a new invitation under another name")
	case c.approved:
		return nil
	case b.state.over():
		return refuse(transport.Ended, "%s", b.state.ending())
	case b.state.begun():
		return refuse(transport.OutOfPlace, "the study has begun without you: its roster is closed")
	}
	c.approved, c.last, c.lastSeq = true, bytes.Clone(envelope), h.LedgerSeq
	b.state.since = b.now
	b.write(func(kept store.Study) error {
		return errors.Join(kept.Put(store.Approval, string(name), envelope), kept.Put(store.Last, string(name), envelope))
	})
	b.then(func() {
		s.log.Info("a client consented", "client", name)
		s.auditMember(ctx, audit.Consent, name)
	})
	return nil
}

// leave records that a client has left. If too few clients remain, [batch.advance] aborts the
// study.
func (b *batch) leave(ctx context.Context, name identity.Name, c *client, envelope []byte, why string) error {
	if c.left || b.state.over() {
		return nil
	}
	c.left, c.reason = true, why
	b.state.gone++
	b.state.since = b.now
	b.write(func(kept store.Study) error { return kept.Put(store.Leave, string(name), envelope) })
	b.then(func() {
		b.study.log.Warn("a client left", "client", name, "reason", why)
		b.study.auditMember(ctx, audit.Leave, name, slog.String("reason", why))
	})
	return nil
}
