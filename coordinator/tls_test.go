package coordinator

import (
	"context"
	"net"
	"testing"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/transport"
)

// serving starts a TLS server with the study of h, and returns its address.
func serving(t *testing.T, h *house) string {
	t.Helper()
	server, err := transport.NewServer(transport.ServerConfig{RoundDeadline: time.Minute})
	check(t, err)
	check(t, server.Add(transport.Study{
		Document: h.study.Hash(), TLS: h.study.TLS, Coordinator: h.study,
		MaxRelease: h.study.LargestBody(), Seen: h.study.Seen,
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// connect joins the study over the network. The party then has a connection with its own
// certificate.
func (p *party) connect(t *testing.T, address string) {
	t.Helper()
	guest, err := transport.Dial(t.Context(), transport.Config{
		Address: address, TLS: channel.Join(p.invited.Study, p.invited.Pin, time.Now), RoundDeadline: time.Minute, MaxEntry: 1 << 20,
	})
	check(t, err)
	a, err := guest.Join(t.Context(), p.joinRequest())
	check(t, err)
	check(t, guest.Close())
	check(t, p.admitted(a))
	credentials, err := channel.NewCredentials(p.peer, p.tls, a.Authority, a.Certificate, time.Now())
	check(t, err)
	pins := func(q channel.Party) (identity.Pin, bool) { return p.hub.Pin, q.Name == p.hub.Name }
	client, err := transport.Dial(t.Context(), transport.Config{
		Address: address, TLS: channel.Client{Credentials: credentials, Pins: pins, Now: time.Now}.Config(),
		RoundDeadline: time.Minute, MaxEntry: 1 << 20,
	})
	check(t, err)
	t.Cleanup(func() { client.Close() })
	p.link = client
}

// The entries and the posterior must be the same as in one process.
func TestStudyOverTLS(t *testing.T) {
	document := planeText(clientPrivacy, "rounds = 3", "")
	h, parties := founded(t, Options{RoundDeadline: time.Minute}, document, "north", "south", "west")
	address := serving(t, h)
	for _, p := range parties {
		p.connect(t, address)
		check(t, p.approve(t.Context()))
	}
	done := make(chan error, len(parties))
	for _, p := range parties {
		go func() { done <- p.live(t.Context()) }()
	}
	for range parties {
		check(t, <-done)
	}
	for _, p := range parties {
		equalsOneProcess(t, document, parties, p)
	}
}

// live follows a study until it ends, waiting for each entry.
func (p *party) live(ctx context.Context) error {
	for !p.chain.Position().Over {
		item, err := p.link.Entry(ctx, p.chain.Position().Number+1)
		if err != nil {
			return err
		}
		if err := p.take(item); err != nil {
			return err
		}
		full, err := p.answer()
		if err != nil {
			return err
		}
		if full {
			if err := p.link.Submit(ctx, *p.outbox); err != nil {
				return err
			}
			p.outbox = nil
		}
	}
	return nil
}
