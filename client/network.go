package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// Network configures a client's connections to a coordinator.
type Network struct {
	// RoundDeadline is the time limit for a round. All other limits are derived from it.
	RoundDeadline time.Duration
	// Poll is how often the client asks for new entries. If it is 0, the client stays connected.
	Poll     time.Duration
	Observer transport.Observer
	// Proxy returns the proxy for an address, or nil for a direct connection. If Proxy itself is
	// nil, all connections are direct.
	Proxy func(address string) (*transport.Proxy, error)
}

// dial tries the addresses in order and returns the first connection that succeeds.
func (n Network) dial(ctx context.Context, log *slog.Logger, addresses []string, config transport.Config) (*transport.Client, error) {
	config.RoundDeadline, config.Poll, config.Observer, config.Log = n.RoundDeadline, n.Poll, n.Observer, log
	if config.RoundDeadline == 0 {
		config.RoundDeadline = transport.DefaultRoundDeadline
	}
	var errs []error
	for _, address := range addresses {
		line, err := n.dialOne(ctx, address, config)
		if err == nil {
			return line, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func (n Network) dialOne(ctx context.Context, address string, config transport.Config) (*transport.Client, error) {
	config.Address = address
	if n.Proxy != nil {
		p, err := n.Proxy(address)
		if err != nil {
			return nil, &UsageError{err}
		}
		if p != nil {
			config.DialContext = p.DialContext
		}
	}
	return transport.Dial(ctx, config)
}

// Dial connects to the coordinator of a study. If this client's certificate has expired, or if one
// side rejects the other's keys, Dial renews the certificate, learns the coordinator's new keys,
// and tries again.
func (c *Client) Dial(ctx context.Context, m *Member, n Network) (*transport.Client, error) {
	line, err := c.dial(ctx, m, n)
	if err == nil || !errors.Is(err, errStale) && !transport.Mistrusted(err) {
		return line, err
	}
	if again := c.comeBackTo(ctx, m, n); again != nil {
		if errors.Is(err, errStale) {
			return nil, again
		}
		c.log.Warn("no certificate could be renewed", "error", again)
		return nil, err
	}
	return c.dial(ctx, m, n)
}

// errStale is the error for a certificate that cannot be used, usually because it has expired.
var errStale = errors.New("the certificate of this client cannot be used")

func (c *Client) dial(ctx context.Context, m *Member, n Network) (*transport.Client, error) {
	credentials, err := c.credentials(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStale, err)
	}
	end := channel.Client{Credentials: credentials, Pins: m.pins, Now: c.now}
	return n.dial(ctx, c.log, m.Addresses, transport.Config{TLS: end.Config(), MaxEntry: m.maxEntry(), Brief: session.Foretells(m.Study), Handshake: c.handshakes(m.coordinator().Key.Fingerprint().String())})
}

func (m *Member) party() channel.Party {
	return channel.Party{Study: m.Hash, Role: identity.Client, Name: m.Name}
}

func (c *Client) credentials(m *Member) (*channel.Credentials, error) {
	return channel.NewCredentials(m.party(), m.newest().tls, m.Authority, m.Certificate, c.now())
}

// pins returns the coordinator's pinned TLS key. A client connects only to the coordinator.
func (m *Member) pins(p channel.Party) (identity.Pin, bool) {
	hub := m.coordinator()
	ok := p.Study == m.Hash && p.Role == identity.Coordinator && p.Name == hub.Name
	return hub.Pin, ok
}

// maxEntry returns an upper bound on the size of an entry's body in bytes. The body may be a
// roster, a plan, an outcome, an opening, or the posterior in JSON, with two covariances and the
// receipts.
func (m *Member) maxEntry() int64 {
	const perNumber, perWord, perReceipt, room = 32, 8, 256, 1 << 20
	size := int64(roster.MaxSize) + room
	p, err := session.Public(m.Study, pretended(m.Study, 0))
	if err != nil {
		return transcript.MaxBody
	}
	dim := int64(p.Model().Dim())
	size += perNumber * (8*int64(p.Family().Size()) + 4*dim*dim + int64(p.MessageSize()))
	size += perReceipt * int64(roster.MaxParties) * int64(p.Plans()+16)
	if p.Commits() {
		size += perWord*int64(phase.MaxPublished) + int64(transcript.AnswersSize(roster.MaxParties))
	}
	if m.Study.Federation.Aggregation == study.Secure { // an opening has at most one share per client
		size += int64(roster.MaxParties) * (perWord*int64(p.VectorSize()) + perReceipt)
	}
	return min(size, transcript.MaxBody)
}

// pretended returns made-up client names for a study that has no roster yet. It returns as many as
// the study needs to begin, and at least fewest.
func pretended(st *study.Study, fewest int) []pvi.ClientID {
	all := make([]pvi.ClientID, max(fewest, st.Federation.Least()))
	for i := range all {
		all[i] = pvi.ClientID(fmt.Sprintf("client-%04d", i+1))
	}
	return all
}
