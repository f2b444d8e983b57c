package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

const (
	noPrivacy     = linestudy.NoPrivacy
	clientPrivacy = "unit = \"client\"\nnoise_multiplier = 0.05\ndelta = 1e-5\nclip = 60"
)

func planeText(privacy, inference, federation string) []byte {
	return linestudy.Document(linestudy.Parts{Privacy: privacy, Inference: inference, Federation: federation})
}

// signedText returns a study of version 2 whose releases anyone may read, so that the clients sign
// them.
func signedText(rounds int) []byte {
	return linestudy.Document(linestudy.Parts{
		Version: 2, Privacy: "unit = \"record\"\nnoise_multiplier = 2.0\ndelta = 1e-5", Federation: "pace = 0",
		Inference: fmt.Sprintf("solver = \"clipped-analytical\"\nintervals = \"none\"\nrounds = %d", rounds),
	})
}

func planeRecords(n int) *shard.Records {
	records := new(shard.Records)
	for i := range n {
		x := float64(i%7)/3.5 - 1
		records.Append([]float64{x, 2*x - 1})
	}
	return records
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A house is a coordinator that a test can kill and start again on the same state directory.
type house struct {
	t       testing.TB
	dir     string
	options Options
	hub     *Hub
	study   *Study
}

func newHouse(t testing.TB, o Options) *house {
	t.Helper()
	h := &house{t: t, dir: filepath.Join(t.TempDir(), "state"), options: o}
	h.open()
	t.Cleanup(func() { h.hub.Close() })
	return h
}

func (h *house) open() {
	h.t.Helper()
	hub, err := Open(h.dir, h.options)
	check(h.t, err)
	h.hub = hub
	if all := hub.Studies(); len(all) == 1 {
		h.study = all[0]
	}
}

func (h *house) found(document []byte) {
	h.t.Helper()
	s, _, err := h.hub.Found(Founding{File: "plane.toml", Document: document, Addresses: []string{"hub.example.org:7443"}}, nil, 0)
	check(h.t, err)
	h.study = s
}

func (h *house) invite(names ...identity.Name) []*party {
	h.t.Helper()
	invited, err := h.study.Invite(h.t.Context(), names, time.Hour)
	check(h.t, err)
	var all []*party
	for m, i := range invited {
		all = append(all, newParty(h, m, i))
	}
	return all
}

// A link is a client's connection to the coordinator.
type link interface {
	Standing(ctx context.Context) (transport.Standing, error)
	Approve(ctx context.Context, envelope []byte) error
	Entry(ctx context.Context, number uint64) (transport.Item, error)
	Submit(ctx context.Context, i transport.Item) error
}

// direct is a connection that calls the study's methods in the same process.
type direct struct{ p *party }

func (d direct) Standing(ctx context.Context) (transport.Standing, error) {
	return d.p.house.study.Standing(ctx, d.p.peer)
}

func (d direct) Approve(ctx context.Context, envelope []byte) error {
	return d.p.house.study.Approve(ctx, d.p.peer, envelope)
}

func (d direct) Entry(ctx context.Context, n uint64) (transport.Item, error) {
	i, err := d.p.house.study.Entry(ctx, d.p.peer, n)
	if i.Stored != nil {
		i.Body = make([]byte, i.Stored.Size())
		err = errors.Join(err, i.Stored.Read(i.Body, 0))
		i.Stored = nil
	}
	return i, err
}

func (d direct) Submit(ctx context.Context, i transport.Item) error { return d.p.submit(ctx, i, 1500) }

// A party is a client that needs no network, ledger or files.
type party struct {
	house   *house
	m       int // index of the stream from which the client's noise comes
	invited invitation.Invitation

	keys

	link     link
	peer     channel.Party
	document *study.Study
	hub      roster.Entry
	chain    transcript.Chain
	site     *session.Site
	records  *shard.Records
	entries  []transport.Item
	secure   *sharer // nil without secure aggregation
	ledger   uint64
	outbox   *transport.Item
	next     *successor   // keys that are not yet in force; nil if there are none
	models   map[int]Hash // model hash of each plan, keyed by plan number

	commitment Hash // commitment in the last answer
}

func newParty(h *house, m int, i Invited) *party {
	h.t.Helper()
	p := &party{house: h, m: m, records: planeRecords(20 + m), models: map[int]Hash{}}
	p.link = direct{p}
	var err error
	p.invited, err = invitation.Parse(i.Text)
	check(h.t, err)
	p.peer = channel.Party{Study: p.invited.Study, Role: identity.Client, Name: i.Name}
	p.keys = newKeys(h.t, p.peer)
	return p
}

// keys has a party's keys, its roster entry, and its certificate request.
type keys struct {
	identity *identity.Identity
	tls      *channel.Key
	sealing  *seal.Key
	entry    roster.Entry
	request  []byte
}

func newKeys(t testing.TB, p channel.Party) (k keys) {
	t.Helper()
	var err error
	k.identity, err = identity.Generate()
	check(t, err)
	k.tls, err = channel.GenerateKey()
	check(t, err)
	k.sealing, err = seal.Generate()
	check(t, err)
	k.entry, err = roster.NewEntry(k.identity, p.Study, p.Name, p.Role, k.tls.Pin(), k.sealing.Recipient())
	check(t, err)
	k.request, err = channel.NewRequest(k.identity, k.tls, p)
	check(t, err)
	return k
}

func (p *party) joinRequest() transport.JoinRequest {
	return transport.JoinRequest{Token: p.invited.Token.Reveal(), Entry: p.entry.Bytes(), Request: p.request}
}

func (p *party) join(ctx context.Context) error {
	a, err := p.house.study.Join(ctx, p.joinRequest())
	if err != nil {
		return err
	}
	return p.admitted(a)
}

// admitted processes the coordinator's reply to a join request.
func (p *party) admitted(a transport.Admission) (err error) {
	if !bytes.Equal(a.Study, p.house.study.document.Source) {
		return errors.New("another study")
	}
	p.document = p.house.study.document // reuses the document, which is already parsed
	if p.hub, err = roster.ParseEntry(a.Coordinator, p.invited.Study); err != nil {
		return err
	}
	p.chain = transcript.Begin(p.invited.Study, p.hub.Key)
	return nil
}

func (p *party) approve(ctx context.Context) error {
	envelope, err := transcript.SignApproval(p.identity, p.invited.Study, p.invited.Coordinator, 0, Hash{})
	if err != nil {
		return err
	}
	return p.link.Approve(ctx, envelope)
}

func (p *party) leave(ctx context.Context, why string) error {
	envelope, err := transcript.SignLeave(p.identity, p.invited.Study, why)
	if err != nil {
		return err
	}
	return p.link.Approve(ctx, envelope)
}

// follow reads and checks all entries that the coordinator has published by now.
func (p *party) follow(ctx context.Context) error {
	standing, err := p.link.Standing(ctx)
	if err != nil {
		return err
	}
	for n := p.chain.Position().Number + 1; n <= standing.Entries; n++ {
		item, err := p.link.Entry(ctx, n)
		if err != nil {
			return err
		}
		if err := p.take(item); err != nil {
			return fmt.Errorf("entry %d: %w", n, err)
		}
	}
	return nil
}

func (p *party) take(i transport.Item) error {
	chain, e, err := p.chain.Follow(i.Envelope, i.Body)
	if err != nil {
		return err
	}
	switch {
	case e.Kind == transcript.Roster && e.Number > 1:
		err = p.version(e, chain)
	case e.Kind == transcript.Roster:
		var names []identity.Name
		for _, e := range chain.Members().Entries {
			if e.Role == identity.Client {
				names = append(names, e.Name)
			}
		}
		p.site, err = session.NewSite(p.document, as[pvi.ClientID](names), pvi.ClientID(p.peer.Name), p.records)
		if err == nil && p.site.Digest() != chain.Protocol() {
			err = errors.New("another protocol")
		}
		if err == nil && p.house.study.secure() {
			err = p.shares(e, chain, nil)
		}
	case e.Kind.Plan(), e.Kind.Outcome():
		if p.secure != nil {
			err = p.shares(e, chain, i.Body)
		}
		if err == nil {
			err = p.site.Follow(sessionEntry(e, p.unsigned(e, i.Body)))
		}
		if e.Kind.Plan() {
			p.models[int(e.Ask)] = e.Model
		}
	case p.secure != nil:
		err = p.shares(e, chain, i.Body)
	}
	if err != nil {
		return err
	}
	p.chain, p.entries = chain, append(p.entries, i)
	return nil
}

// unsigned returns the body of an entry without the clients' signatures.
func (p *party) unsigned(e transcript.Entry, body []byte) []byte {
	if a, err := transcript.ParseAnswered(body); err == nil && p.chain.Commits() && e.Kind.Outcome() {
		return a.Outcome
	}
	return body
}

func sessionEntry(e transcript.Entry, body []byte) session.Entry {
	return session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: body}
}

// answer puts the answer to a pending plan into the outbox. It reports whether there is now an
// answer to send.
func (p *party) answer() (bool, error) {
	ask, ok := p.site.Pending()
	if !ok {
		return p.outbox != nil, nil
	}
	a, err := p.site.Answer(seeded.Stream(1, "client", uint64(p.m), uint64(ask)))
	if err != nil {
		return false, err
	}
	p.ledger++
	p.commitment = a.Commitment
	item, err := p.sealed(ask, p.models[ask], a.Release, nil)
	p.outbox = &item
	return true, err
}

// prepare reads the new entries and returns the answer to the pending plan, but does not send it.
func (p *party) prepare(t testing.TB) transport.Item {
	t.Helper()
	check(t, p.follow(t.Context()))
	_, err := p.answer()
	check(t, err)
	return *p.outbox
}

// sealed signs and encrypts a release. The function change may modify the header.
func (p *party) sealed(ask int, model Hash, release []byte, change func(h *signed.Header)) (transport.Item, error) {
	h := p.chain.ReleaseHeader(uint64(ask), model, p.identity.Fingerprint(), p.ledger, Hash{byte(p.ledger)})
	if change != nil {
		change(&h)
	}
	body, err := seal.Seal(p.hub.Recipient, h.Bytes(), release, p.site.MaxRelease())
	if err != nil {
		return transport.Item{}, err
	}
	envelope, err := transcript.SignRelease(p.identity, h, body, p.commitment)
	return transport.Item{Envelope: envelope, Body: body}, err
}

// submit sends an answer in pieces of the given size. If the body fits into one piece, it goes with
// the offer.
func (p *party) submit(ctx context.Context, i transport.Item, size int) error {
	var whole []byte
	if len(i.Body) <= size {
		whole = i.Body
	}
	have, err := p.house.study.Offer(ctx, p.peer, i.Envelope, whole)
	if err != nil {
		return err
	}
	hash := transcript.BodyOf(i.Envelope).Hash
	for have < int64(len(i.Body)) {
		end := min(int(have)+size, len(i.Body))
		if err := p.house.study.Write(ctx, p.peer, hash, have, i.Body[have:end]); err != nil {
			return err
		}
		have = int64(end)
	}
	return nil
}

// step reads the new entries and answers a pending plan. It reports whether there was anything to
// do.
func (p *party) step(ctx context.Context) (bool, error) {
	if p.house.study.secure() {
		return p.secureStep(ctx)
	}
	before := p.chain.Position().Number
	if err := p.follow(ctx); err != nil {
		return false, err
	}
	if p.site == nil {
		return false, nil
	}
	full, err := p.answer()
	if err != nil {
		return false, err
	}
	if full {
		if err := outOfPlace(p.link.Submit(ctx, *p.outbox)); err != nil {
			return false, err
		}
		p.outbox = nil
	}
	return full || p.chain.Position().Number > before, nil
}

// founded starts a coordinator with a study, and invites the named clients.
func founded(t testing.TB, o Options, document []byte, names ...identity.Name) (*house, []*party) {
	t.Helper()
	h := newHouse(t, o)
	h.found(document)
	return h, h.invite(names...)
}

// begun starts a coordinator with a study. The named clients join and consent.
func begun(t testing.TB, o Options, document []byte, names ...identity.Name) (*house, []*party) {
	t.Helper()
	h, parties := founded(t, o, document, names...)
	admit(t, parties...)
	return h, parties
}

func admit(t testing.TB, parties ...*party) {
	t.Helper()
	for _, p := range parties {
		check(t, p.join(t.Context()))
		check(t, p.approve(t.Context()))
	}
}

func follow(t testing.TB, parties ...*party) {
	t.Helper()
	for _, p := range parties {
		check(t, p.follow(t.Context()))
	}
}

// once runs one step of each party.
func once(t testing.TB, parties ...*party) (moved bool) {
	t.Helper()
	for _, p := range parties {
		did, err := p.step(t.Context())
		check(t, err)
		moved = moved || did
	}
	return moved
}

// play runs the parties in turn until none of them has anything to do.
func play(t testing.TB, parties ...*party) {
	t.Helper()
	for once(t, parties...) {
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
