package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/internal/audit"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// A Guest is a connection without a client certificate. The only thing that a client can do over it
// is to redeem an invitation.
type Guest interface {
	Join(ctx context.Context, r transport.JoinRequest) (transport.Admission, error)
}

// maxStudy is the maximum size in bytes of the coordinator's reply to a join request. The reply has
// the study document.
const maxStudy = 4 << 20

// DialGuest tries the addresses of an invitation in order. It returns the first connection that
// succeeds.
func (c *Client) DialGuest(ctx context.Context, i invitation.Invitation, n Network) (*transport.Client, error) {
	return n.dial(ctx, c.log, i.Addresses, transport.Config{TLS: channel.Join(i.Study, i.Pin, c.now), MaxEntry: maxStudy, Handshake: c.handshakes(i.Coordinator.String())})
}

// Join redeems an invitation with new keys, and checks that the study and the coordinator are those
// of the invitation. If there is no policy, Join writes one with the privacy limit promise. The
// data holder must still review and approve the study.
func (c *Client) Join(ctx context.Context, i invitation.Invitation, guest Guest, promise accountant.Target) (m *Member, wrotePolicy bool, err error) {
	if c.now().After(i.Expires) {
		return nil, false, &Refusal{fmt.Sprintf("the invitation expired on %s, by the clock of this machine: ask for a new one, or set the clock", i.Expires.Format(time.DateOnly))}
	}
	k, own, err := c.keysToJoin(i.Study)
	if err != nil {
		return nil, false, err
	}
	if k.sealing == nil {
		return nil, false, &Refusal{"the study is over, and a client cannot join it again"}
	}
	party := channel.Party{Study: i.Study, Role: identity.Client, Name: i.Name}
	if own == nil {
		e, err := roster.NewEntry(k.identity, i.Study, i.Name, identity.Client, k.tls.Pin(), k.sealing.Recipient())
		if err != nil {
			return nil, false, err
		}
		own = &e
	}
	request, err := channel.NewRequest(k.identity, k.tls, party)
	if err != nil {
		return nil, false, err
	}
	a, err := guest.Join(ctx, transport.JoinRequest{Token: i.Token.Reveal(), Entry: own.Bytes(), Request: request})
	if err != nil {
		return nil, false, err
	}
	if err := c.admitted(i, a, k, *own, party); err != nil {
		return nil, false, err
	}
	wrotePolicy, err = WritePolicy(c.dir, i.Coordinator, promise)
	if err != nil {
		return nil, false, err
	}
	if m, err = c.member(i.Study); err != nil {
		return nil, wrotePolicy, err
	}
	c.note(m, audit.Join, slog.LevelInfo, slog.String("client", string(m.Name)), slog.String("fingerprint", k.identity.Fingerprint().String()), slog.String("coordinator", i.Coordinator.String()))
	return m, wrotePolicy, nil
}

// keysToJoin returns new keys. If the client has already joined the study, it returns the old keys
// and roster entry instead.
func (c *Client) keysToJoin(of ledger.Hash) (keys, *roster.Entry, error) {
	joined, err := c.has(of, membershipPart)
	if err != nil || !joined {
		k, err := c.newKeys(of)
		return k, nil, err
	}
	m, err := c.member(of)
	if err != nil {
		return keys{}, nil, err
	}
	return m.keys, &m.own, nil
}

func (c *Client) admitted(i invitation.Invitation, a transport.Admission, k keys, own roster.Entry, party channel.Party) error {
	if sha256.Sum256(a.Study) != i.Study {
		return &Refusal{"the coordinator sent a different study from the one in the invitation: ask the sender of the invitation"}
	}
	hub, err := roster.ParseEntry(a.Coordinator, i.Study)
	switch {
	case err != nil:
		return &Refusal{"the coordinator's roster entry: " + err.Error()}
	case hub.Role != identity.Coordinator || hub.Key.Fingerprint() != i.Coordinator:
		return &Refusal{"the coordinator does not have the fingerprint in the invitation: ask the sender of the invitation"}
	case hub.Pin != i.Pin:
		return &Refusal{"the coordinator's key for connections is not the one in the invitation: ask the sender of the invitation"}
	}
	if _, err := channel.NewCredentials(party, k.tls, a.Authority, a.Certificate, c.now()); err != nil {
		return &Refusal{"the coordinator's certificate: " + err.Error()}
	}
	if _, err := study.Parse("study.toml", a.Study); err != nil {
		return &Refusal{"the study cannot be read: " + err.Error()}
	}
	if joined, err := c.has(i.Study, membershipPart); err != nil {
		return err
	} else if joined {
		return c.joinedAgain(i.Study, a)
	}
	joined := membership{
		Name: i.Name, Coordinator: i.Coordinator, Entry: a.Coordinator, Addresses: i.Addresses,
		Authority: a.Authority, Certificate: a.Certificate, Joined: c.now().UTC().Truncate(time.Second), Own: own.Bytes(),
	}
	b, err := json.Marshal(joined)
	if err != nil {
		return err
	}
	return c.store.Save(ledger.Change{Study: i.Study, Parts: map[string][]byte{documentPart: a.Study, membershipPart: b}})
}

// joinedAgain saves the new certificate when a client joins a study for the second time. A client
// may redeem the same invitation again, or another one from the same coordinator.
func (c *Client) joinedAgain(of ledger.Hash, a transport.Admission) error {
	var m membership
	if err := c.get(of, membershipPart, &m); err != nil {
		return err
	}
	if !bytes.Equal(m.Entry, a.Coordinator) {
		return &Refusal{"this study was joined before, and its coordinator had a different roster entry then: ask the sender of the invitation"}
	}
	m.Authority, m.Certificate = a.Authority, a.Certificate
	return c.put(of, membershipPart, m)
}
