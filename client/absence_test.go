package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/crypto/channel"
	"fedpvi/transport"
)

// pausing is a coordinator that holds back all entries after number until.
type pausing struct {
	transport.Coordinator
	until atomic.Uint64
	held  sync.WaitGroup // calls that are held back
}

func (p *pausing) Entry(ctx context.Context, peer channel.Party, number uint64) (transport.Item, error) {
	if number > p.until.Load() {
		p.held.Done()
		<-ctx.Done()
		return transport.Item{}, ctx.Err()
	}
	return p.Coordinator.Entry(ctx, peer, number)
}

func (n *realNetwork) with(m int, f func(c *client.Client, member *client.Member) error) error {
	n.t.Helper()
	c := n.open(m)
	defer c.Close()
	member, err := c.Member("")
	check(n.t, err)
	return f(c, member)
}

func (n *realNetwork) rotate(m int) error {
	n.t.Helper()
	return n.with(m, func(c *client.Client, member *client.Member) error { return rotate(n.t, c, member) })
}

func rotate(t *testing.T, c *client.Client, m *client.Member) error {
	return c.Rotate(t.Context(), m, func(ctx context.Context) (client.Renewer, func() error, error) {
		line, err := c.Dial(ctx, m, client.Network{})
		return line, line.Close, err
	})
}

// The clients approve the study and then stay away for 91 days, until their certificates have
// expired. In the middle of the study they stay away for 400 days, until the authority's
// certificate has expired too. After that, two clients and the coordinator get new keys, and the
// clients stay away again.
//
//abuse:case A06 over TLS, certificates are renewed by identity after 91 and 400 days, and with new keys of both ends
//abuse:case A14 certificates expire by the clock, and only the identities renew them
func TestClientsStayAway(t *testing.T) {
	const record = "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5"
	for name, source := range map[string][]byte{
		"records": federatedStudy(linear, "rounds = 3", record, ""),
		"secure":  federatedStudy(linear, "rounds = 3", "unit = \"client\"\nepsilon = 8.0\ndelta = 1e-5\nclip = 20.0", "aggregation = \"secure\""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, records, _, natural := simulated(t, source)
			var now atomic.Int64
			now.Store(today.Unix())
			o := coordinator.Options{
				Now:           func() time.Time { return time.Unix(now.Load(), 0) },
				RoundDeadline: 2000 * 24 * time.Hour, // the open round must wait for the clients
			}
			front := &pausing{}
			n := newNetworkAt(t, st, records, o, func(n *realNetwork) transport.Coordinator {
				front.Coordinator = n.study
				return front
			})
			playUntil := func(entry uint64) {
				t.Helper()
				front.until.Store(entry)
				front.held.Add(len(n.clients))
				ctx, cancel := context.WithCancel(t.Context())
				errs := make([]error, len(n.clients))
				var wg sync.WaitGroup
				for m := range n.clients {
					wg.Go(func() { _, errs[m] = n.run(ctx, m) })
				}
				front.held.Wait()
				cancel()
				wg.Wait()
				for m, err := range errs {
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("%s: %v", n.clients[m], err)
					}
				}
			}
			away := func(days int) { now.Add(int64(days) * 24 * 60 * 60) }
			away(91)
			playUntil(0) // the clients consent
			away(91)
			playUntil(3)
			away(400)
			for m := range 2 {
				check(t, n.rotate(m))
				if err := n.rotate(m); client.CodeOf(err) != client.Declined {
					t.Errorf("new keys while others wait: %v", err)
				}
			}
			check(t, n.study.Rotate(t.Context()))
			before := n.study.Digest()
			away(400)
			front.until.Store(1 << 40)
			n.finds(natural)
			status, err := n.study.Status(t.Context())
			check(t, err)
			if status.Roster < 2 || len(status.NewKeys) != 0 || before != n.study.Digest() {
				t.Errorf("version %d of the roster, new keys of %v", status.Roster, status.NewKeys)
			}
			away(400)
			if _, err := n.run(t.Context(), 0); err != nil {
				t.Errorf("after the study: %v", err)
			}
		})
	}
}

//abuse:case P10 the connections of a client whose keys were revoked are closed, and it does not come back
func TestRevokedClientIsShutOut(t *testing.T) {
	st, records, _, _ := simulated(t, federatedStudy(linear, "rounds = 3", "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5", "min_clients = 2"))
	n := newRealNetwork(t, st, records)
	check(t, n.with(0, func(c *client.Client, member *client.Member) error {
		line, err := c.Dial(t.Context(), member, client.Network{})
		check(t, err)
		defer line.Close()
		_, err = line.Standing(t.Context())
		check(t, err)
		check(t, n.study.Revoke(t.Context(), n.clients[0], "its laptop was stolen"))
		if _, err := line.Standing(t.Context()); err == nil {
			t.Error("the client still calls over its connection")
		}
		var again io.Closer
		if again, err = c.Dial(t.Context(), member, client.Network{}); err == nil {
			again.Close()
			t.Error("the client connects again")
		}
		return nil
	}))
}

// When a client gets new keys, the coordinator closes its connection. The client must then be able
// to connect with its new key, even though the roster does not have it yet.
func TestNewKeyForConnectionsCountsAtOnce(t *testing.T) {
	st, records, _, _ := simulated(t, federatedStudy(linear, "rounds = 3", "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5", ""))
	n := newRealNetwork(t, st, records)
	check(t, n.with(0, func(c *client.Client, member *client.Member) error {
		before, err := c.Dial(t.Context(), member, client.Network{})
		check(t, err)
		defer before.Close()
		_, err = before.Standing(t.Context())
		check(t, err)
		first := member.Certificate
		check(t, rotate(t, c, member))
		if _, err := before.Standing(t.Context()); err == nil {
			t.Error("the connection with the key before is still open")
		}
		after, err := c.Dial(t.Context(), member, client.Network{})
		check(t, err)
		defer after.Close()
		_, err = after.Standing(t.Context())
		if bytes.Equal(member.Certificate, first) {
			t.Error("the client has no certificate for its new key")
		}
		return err
	}))
}
