package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fedpvi/coordinator"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
	"fedpvi/transport"
)

// atOnce is the number of clients that join at the same time.
const atOnce = 32

// maxEntry is an upper bound in bytes on the size of a transcript entry. It is large enough for a
// million coefficients.
const maxEntry = 1 << 30

// A light is a simple client. It has no records, no ledger and no files.
type light struct {
	identity *identity.Identity
	party    channel.Party
	hub      roster.Entry
	tls      channel.Client
	line     *transport.Client
	ledger   uint64
	has      uint64    // number of transcript entries received so far
	asked    time.Time // time at which the last plan arrived
}

// bytes counts the bytes that all clients together have received and sent.
type bytes struct{ received, sent atomic.Int64 }

func (*bytes) Called(string, string) {}
func (*bytes) Connected(int)         {}
func (b *bytes) Moved(received, sent int) {
	b.received.Add(int64(received))
	b.sent.Add(int64(sent))
}

// A crowd holds the clients of one study.
type crowd struct {
	clients []*light
	study   *study.Study
	moved   bytes
}

// each calls do for every client. At most at of these calls run at the same time.
func (c *crowd) each(at int, do func(p *light) error) error {
	var all errgroup.Group
	all.SetLimit(at)
	for _, p := range c.clients {
		all.Go(func() error {
			if err := do(p); err != nil {
				return fmt.Errorf("%s: %w", p.party.Name, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// gather makes all invited clients join the study and connect.
func gather(ctx context.Context, address string, document []byte, invited []coordinator.Invited) (*crowd, error) {
	st, err := study.Parse("load.toml", document)
	if err != nil {
		return nil, err
	}
	c := &crowd{study: st}
	tickets := map[identity.Name]string{}
	for _, i := range invited {
		p := &light{}
		p.party.Name = i.Name
		tickets[i.Name] = i.Text
		c.clients = append(c.clients, p)
	}
	return c, c.each(atOnce, func(p *light) error {
		if err := p.join(ctx, address, tickets[p.party.Name]); err != nil {
			return err
		}
		p.line, err = p.connect(ctx, address, &c.moved)
		return err
	})
}

func (p *light) join(ctx context.Context, address, text string) error {
	i, err := invitation.Parse(text)
	if err != nil {
		return err
	}
	p.party = channel.Party{Study: i.Study, Role: identity.Client, Name: i.Name}
	if p.identity, err = identity.Generate(); err != nil {
		return err
	}
	key, err := channel.GenerateKey()
	if err != nil {
		return err
	}
	sealing, err := seal.Generate()
	if err != nil {
		return err
	}
	entry, err := roster.NewEntry(p.identity, i.Study, i.Name, identity.Client, key.Pin(), sealing.Recipient())
	if err != nil {
		return err
	}
	request, err := channel.NewRequest(p.identity, key, p.party)
	if err != nil {
		return err
	}
	guest, err := transport.Dial(ctx, transport.Config{Address: address, TLS: channel.Join(i.Study, i.Pin, time.Now), MaxEntry: maxEntry})
	if err != nil {
		return err
	}
	a, err := guest.Join(ctx, transport.JoinRequest{Token: i.Token.Reveal(), Entry: entry.Bytes(), Request: request})
	if err := errors.Join(err, guest.Close()); err != nil {
		return err
	}
	if p.hub, err = roster.ParseEntry(a.Coordinator, i.Study); err != nil {
		return err
	}
	credentials, err := channel.NewCredentials(p.party, key, a.Authority, a.Certificate, time.Now())
	if err != nil {
		return err
	}
	pins := func(q channel.Party) (identity.Pin, bool) { return i.Pin, q.Name == p.hub.Name }
	p.tls = channel.Client{Credentials: credentials, Pins: pins, Now: time.Now}
	return nil
}

func (p *light) connect(ctx context.Context, address string, o transport.Observer) (*transport.Client, error) {
	return transport.Dial(ctx, transport.Config{Address: address, TLS: p.tls.Config(), RoundDeadline: time.Hour, MaxEntry: maxEntry, Brief: true, Observer: o})
}

func (p *light) approve(ctx context.Context) error {
	envelope, err := transcript.SignApproval(p.identity, p.party.Study, p.hub.Key.Fingerprint(), 0, [32]byte{})
	if err != nil {
		return err
	}
	return p.line.Approve(ctx, envelope)
}

// A script makes clients answer with zeros. It keeps the entries that they receive, so that each
// entry is verified by only one client.
type script struct {
	size   int // number of elements in an answer
	padded int // padded size of an answer in bytes

	federation *sums.Federation // rules for secure aggregation; nil without secure aggregation
	progress   *sums.Progress

	mu      sync.Mutex
	chain   transcript.Chain
	entries []transcript.Entry
	times   times
}

// follow processes an entry that client p has just received. If p is the first client to receive
// it, it verifies the entry. If the coordinator has left out a body that real clients compute, p
// requests the body.
func (s *script) follow(ctx context.Context, p *light, number uint64, item transport.Item) (transcript.Entry, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if number > uint64(len(s.entries)) {
		if item.Derived {
			var err error
			if item, err = p.line.Whole(ctx, number); err != nil {
				return transcript.Entry{}, err
			}
		}
		chain, e, err := s.chain.Follow(item.Envelope, item.Body)
		if err != nil {
			return e, err
		}
		if s.progress != nil && e.Ask > 0 {
			if err := s.progress.Follow(e, item.Body); err != nil {
				return e, err
			}
		}
		s.chain, s.entries = chain, append(s.entries, e)
	}
	e := s.entries[number-1]
	switch {
	case e.Kind.Plan():
		p.asked = now
		s.times.asked(now, e.Ask)
	case e.Kind.Outcome():
		s.times.told(now, e.Ask, now.Sub(p.asked))
	}
	return e, nil
}

// played returns the number of rounds that all clients have finished.
func (s *script) played(clients int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.times.whole(clients))
}

// play runs a client until it has received the outcome of the given plan, or until the study is
// over.
func (s *script) play(ctx context.Context, p *light, plan uint64) error {
	for {
		number := max(p.has, 1) + 1
		item, err := p.line.Entry(ctx, number)
		if err != nil {
			return err
		}
		e, err := s.follow(ctx, p, number, item)
		if err != nil {
			return fmt.Errorf("entry %d: %w", number, err)
		}
		p.has = number
		switch {
		case e.Kind.Plan():
			if err := s.answer(ctx, p, e); err != nil {
				return err
			}
		case e.Kind.Step():
			if err := s.step(ctx, p, e); err != nil {
				return err
			}
		case !e.Kind.Outcome(), e.Ask == plan:
			return nil
		}
	}
}

// script verifies the roster and computes the sizes of messages.
func (c *crowd) script(ctx context.Context) (*script, error) {
	first := c.clients[0]
	item, err := first.line.Entry(ctx, 1)
	if err != nil {
		return nil, err
	}
	s := &script{
		chain: transcript.Begin(first.party.Study, first.hub.Key),
		times: newTimes(),
	}
	if _, err := s.follow(ctx, first, 1, item); err != nil {
		return nil, err
	}
	ids := make([]pvi.ClientID, len(c.clients))
	for m, p := range c.clients {
		ids[m] = pvi.ClientID(p.party.Name)
	}
	protocol, err := session.Public(c.study, ids)
	if err != nil {
		return nil, err
	}
	s.size = protocol.MessageSize()
	if c.study.Federation.Aggregation == study.Secure {
		if err := s.share(protocol.MinClients(), protocol.VectorSize()); err != nil {
			return nil, err
		}
		return s, c.each(atOnce, func(p *light) error { return s.prepare(ctx, p) })
	}
	s.padded, err = session.MaxRelease(c.study, ids)
	return s, err
}

// sealed returns the size of an encrypted answer in bytes.
func (s *script) sealed() int64 {
	if s.federation != nil {
		return int64(s.federation.DealSize())
	}
	return int64(seal.SealedSize(len(signed.Header{Domain: signed.Release}.Bytes()), s.padded))
}

func (s *script) answer(ctx context.Context, p *light, plan transcript.Entry) error {
	if s.federation != nil {
		return s.deal(ctx, p, plan)
	}
	p.ledger++
	h := s.chain.ReleaseHeader(plan.Ask, plan.Model, p.identity.Fingerprint(), p.ledger, [32]byte{byte(p.ledger)})
	r := &pvi.Release{Protocol: pvi.Digest(s.chain.Protocol()), Number: int(plan.Ask), Client: pvi.ClientID(p.party.Name), Change: make([]int64, s.size)}
	body, err := seal.Seal(p.hub.Recipient, h.Bytes(), wire.AppendRelease(nil, r), s.padded)
	if err != nil {
		return err
	}
	var commitment [32]byte
	if s.chain.Commits() {
		commitment = pvi.HashOf(r.Change)
	}
	envelope, err := transcript.SignRelease(p.identity, h, body, commitment)
	if err != nil {
		return err
	}
	return p.line.Submit(ctx, transport.Item{Envelope: envelope, Body: body})
}
