package abuse

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/daemon"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/transport"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func document(name string) []byte {
	text := linestudy.Document(linestudy.Parts{
		Inference: "rounds = 2", Privacy: "unit = \"client\"\nnoise_multiplier = 4\ndelta = 1e-5\nclip = 60", Federation: "min_clients = 2",
	})
	return bytes.Replace(text, []byte(`name = "plane"`), []byte(`name = "`+name+`"`), 1)
}

// A hub runs the coordinator's daemon, which listens on a port of this machine.
type hub struct {
	t       testing.TB
	dir     string
	address string
	orders  *admin.Remote
}

func serve(t testing.TB) *hub {
	t.Helper()
	h := &hub{t: t, dir: filepath.Join(t.TempDir(), "hub")}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Serve(ctx, daemon.Config{
			Dir: h.dir, Listen: "127.0.0.1:0", RoundDeadline: time.Minute, Log: slog.New(slog.DiscardHandler),
			Ready: func(clients, _ net.Addr) { ready <- clients },
		})
	}()
	select {
	case a := <-ready:
		h.address = a.String()
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); check(t, <-ended) })
	var err error
	h.orders, err = admin.Dial(t.Context(), h.dir)
	check(t, err)
	return h
}

func (h *hub) found(document []byte, names ...identity.Name) []*party {
	h.t.Helper()
	founded, err := h.orders.Found(h.t.Context(), admin.Founding{
		File: "study.toml", Document: document, Addresses: []string{h.address}, Clients: names, Valid: time.Hour,
	})
	check(h.t, err)
	var all []*party
	for _, i := range founded.Invited {
		all = append(all, newParty(h, i.Text))
	}
	return all
}

// A party is a client with keys and an invitation. It records the errors of its calls.
type party struct {
	hub      *hub
	invited  invitation.Invitation
	identity *identity.Identity
	tls      *channel.Key
	entry    roster.Entry
	request  []byte

	admission   transport.Admission
	credentials *channel.Credentials
}

func newParty(h *hub, text string) *party {
	h.t.Helper()
	p := &party{hub: h}
	var err error
	p.invited, err = invitation.Parse(text)
	check(h.t, err)
	p.identity, err = identity.Generate()
	check(h.t, err)
	p.tls, err = channel.GenerateKey()
	check(h.t, err)
	sealing, err := seal.Generate()
	check(h.t, err)
	p.entry, err = roster.NewEntry(p.identity, p.invited.Study, p.invited.Name, identity.Client, p.tls.Pin(), sealing.Recipient())
	check(h.t, err)
	p.request, err = channel.NewRequest(p.identity, p.tls, p.party())
	check(h.t, err)
	return p
}

func (p *party) party() channel.Party {
	return channel.Party{Study: p.invited.Study, Role: identity.Client, Name: p.invited.Name}
}

func (p *party) joining() transport.JoinRequest {
	return transport.JoinRequest{Token: p.invited.Token.Reveal(), Entry: p.entry.Bytes(), Request: p.request}
}

func (h *hub) dial(c transport.Config) *transport.Client {
	h.t.Helper()
	c.Address, c.RoundDeadline = h.address, time.Minute
	if c.MaxEntry == 0 {
		c.MaxEntry = 1 << 20
	}
	line, err := transport.Dial(h.t.Context(), c)
	check(h.t, err)
	h.t.Cleanup(func() { line.Close() })
	return line
}

func (p *party) join() {
	t := p.hub.t
	t.Helper()
	guest := p.hub.dial(transport.Config{TLS: channel.Join(p.invited.Study, p.invited.Pin, time.Now)})
	var err error
	p.admission, err = guest.Join(t.Context(), p.joining())
	check(t, err)
	check(t, guest.Close())
	p.credentials, err = channel.NewCredentials(p.party(), p.tls, p.admission.Authority, p.admission.Certificate, time.Now())
	check(t, err)
}

// config returns the configuration for connections that the party would open itself.
func (p *party) config() transport.Config {
	pins := func(q channel.Party) (identity.Pin, bool) { return p.invited.Pin, q.Role == identity.Coordinator }
	return transport.Config{TLS: channel.Client{Credentials: p.credentials, Pins: pins, Now: time.Now}.Config()}
}

func (p *party) line() *transport.Client { return p.hub.dial(p.config()) }

func (p *party) consent() []byte {
	p.hub.t.Helper()
	envelope, err := transcript.SignApproval(p.identity, p.invited.Study, p.invited.Coordinator, 0, transport.Hash{})
	check(p.hub.t, err)
	return envelope
}

func (p *party) leave() []byte {
	p.hub.t.Helper()
	envelope, err := transcript.SignLeave(p.identity, p.invited.Study, "no time")
	check(p.hub.t, err)
	return envelope
}

// release returns the signed envelope of an answer to plan 1.
func (p *party) release(chain transcript.Chain, model transport.Hash, body []byte) []byte {
	p.hub.t.Helper()
	h := chain.ReleaseHeader(1, model, p.identity.Fingerprint(), 1, transport.Hash{1})
	envelope, err := transcript.SignRelease(p.identity, h, body, transport.Hash{})
	check(p.hub.t, err)
	return envelope
}
