package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/transport"
)

// A Renewer is a connection over which a client can renew its certificate, even if it has no valid
// one.
type Renewer interface {
	Renew(ctx context.Context, r transport.RenewRequest) (transport.Renewed, error)
}

// renew requests a new certificate if two thirds of the validity period have passed, or if this
// client has new keys that the coordinator has not yet accepted.
func (c *Client) renew(ctx context.Context, m *Member, link Renewer) error {
	credentials, err := c.credentials(m)
	if err == nil && c.now().Before(credentials.RenewFrom()) && (m.next == nil || m.Accepted) {
		return nil
	}
	err = c.renewNow(ctx, m, link)
	if refused := new(transport.Refusal); errors.As(err, &refused) && refused.Reason == transport.Ended {
		return nil // the previous keys are enough to read the rest of the transcript
	}
	return err
}

// renewNow requests a new certificate. If this client has made new keys, renewNow also sends them.
// The connection need not be authenticated, because renewNow sends no secrets and checks the
// coordinator's signature on everything that it receives.
func (c *Client) renewNow(ctx context.Context, m *Member, link Renewer) error {
	k := m.keys
	if m.next != nil {
		k = m.nextKeys
	}
	request, err := channel.NewRequest(k.identity, k.tls, m.party())
	if err != nil {
		return err
	}
	r, err := link.Renew(ctx, transport.RenewRequest{Request: request, Renewal: m.Next})
	if err != nil {
		return err
	}
	if err := m.learn(r.Renewals); err != nil {
		return err
	}
	authority := m.Authority
	if r.Authority != nil {
		if err := channel.CheckAuthority(r.Authority, m.Hash, m.coordinator().Key, r.Signature); err != nil {
			return &Refusal{err.Error()}
		}
		authority = r.Authority
	}
	if _, err := channel.NewCredentials(m.party(), k.tls, authority, r.Certificate, c.now()); err != nil {
		return &Refusal{"the new certificate from the coordinator: " + err.Error()}
	}
	rotated := m.next != nil && !m.Accepted
	m.Authority, m.Certificate, m.Accepted = authority, r.Certificate, m.next != nil
	if err := c.put(m.Hash, membershipPart, m.membership); err != nil {
		return err
	}
	if rotated {
		c.noteKeys(m, m.next.Entry)
	}
	return nil
}

// comeBackTo renews the certificate if it has expired or if the coordinator's keys have changed.
// The connection that it uses authenticates neither side.
func (c *Client) comeBackTo(ctx context.Context, m *Member, n Network) (err error) {
	config := transport.Config{TLS: channel.Return(m.Hash, c.now), MaxEntry: maxStudy, Handshake: c.handshakes("not checked yet")}
	line, err := n.dial(ctx, c.log, m.Addresses, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, line.Close()) }()
	if err := c.renewNow(ctx, m, line); err != nil {
		return err
	}
	c.log.Info("renewed the certificate with the client's identity", "study", m.Study.Name)
	return nil
}

// Rotate makes new keys for this client in a study: an identity, a TLS key and a sealing key. It
// saves the keys and sends the public keys to the coordinator. If the study has begun, they take
// effect with the next version of the roster that the client follows. After an interruption, the
// next call continues with the same keys.
func (c *Client) Rotate(ctx context.Context, m *Member, connect func(ctx context.Context) (Renewer, func() error, error)) error {
	if ending, err := c.Ending(m); err != nil || ending != nil {
		return errors.Join(err, &Refusal{"the study " + m.Study.Name + " is over"})
	}
	if err := c.leftAlready(m); err != nil {
		return err
	}
	if m.Accepted {
		return &Refusal{"the coordinator has accepted the last new keys, but no roster that this client has followed contains them: run client run first, then make new keys"}
	}
	if m.next == nil {
		renewal, err := c.makeKeys(m)
		if err != nil {
			return err
		}
		saved := m.membership
		saved.Next = renewal.Bytes()
		if err := c.put(m.Hash, membershipPart, saved); err != nil {
			return err
		}
		m.membership = saved
		if err := c.loadMember(m); err != nil {
			return err
		}
	}
	send := func() (err error) {
		link, end, err := connect(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		if m.Accepted {
			return nil // connect has sent the new keys, and the coordinator has accepted them
		}
		return c.renewNow(ctx, m, link)
	}
	// When the coordinator accepts new keys, it closes all connections that use the previous TLS
	// key, so its reply may be lost. The second attempt uses the new keys.
	if err := send(); !transport.Mistrusted(err) {
		return err
	}
	return send()
}

// learn checks all renewals of the coordinator's roster entry since the study was created, and adds
// those that are new. It refuses a renewal that contradicts one that is already known.
func (m *Member) learn(all [][]byte) error {
	for i, b := range all { // skip renewals from before this client joined, because m.Entry includes them
		if r, err := roster.ParseRenewal(b, m.Hash); err == nil && bytes.Equal(r.Entry.Bytes(), m.Entry) {
			all = all[i+1:]
			break
		}
	}
	for i, b := range all {
		if i < len(m.Renewals) && !bytes.Equal(m.Renewals[i], b) {
			return &Refusal{"the coordinator has signed two successions of its keys: one of its identities may be stolen. Ask its people, by telephone or in person"}
		}
	}
	if len(all) <= len(m.Renewals) {
		return nil
	}
	first, err := roster.ParseEntry(m.Entry, m.Hash)
	if err != nil {
		return err
	}
	now, err := roster.Latest(m.Hash, first, all)
	if err != nil {
		return &Refusal{"the coordinator's new keys: " + err.Error()}
	}
	m.Renewals = all
	m.hub.Store(&now)
	return nil
}

func (c *Client) learnAndSave(m *Member, all [][]byte) error {
	before := len(m.Renewals)
	if err := m.learn(all); err != nil || len(m.Renewals) == before {
		return err
	}
	c.log.Warn("the coordinator has new keys, signed with its previous keys", "study", m.Study.Name, "key", m.coordinator().Key.Fingerprint())
	c.noteKeys(m, m.coordinator())
	return c.put(m.Hash, membershipPart, m.membership)
}

// coordinator returns the coordinator's newest roster entry that this client knows.
func (m *Member) coordinator() roster.Entry { return *m.hub.Load() }

// coordinatorOf returns the coordinator's roster entry in which the identity has the fingerprint f,
// and all renewals after it. If this client knows no such entry, it returns a Refusal.
func (m *Member) coordinatorOf(f identity.Fingerprint) (e roster.Entry, later [][]byte, err error) {
	if e, err = roster.ParseEntry(m.Entry, m.Hash); err != nil {
		return e, nil, err
	}
	for later = m.Renewals; e.Key.Fingerprint() != f; later = later[1:] {
		if len(later) == 0 {
			return e, nil, &Refusal{fmt.Sprintf("the identity %s is not one of the coordinator", f)}
		}
		if e, err = roster.Latest(m.Hash, e, later[:1]); err != nil {
			return e, nil, err
		}
	}
	return e, later, nil
}
