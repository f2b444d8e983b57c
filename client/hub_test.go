package client_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fedpvi/client/ledger"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

var today = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func now() time.Time { return today }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// otherPin returns the coordinator's roster entry with a different TLS key.
func otherPin(t testing.TB, h *hub) roster.Entry {
	t.Helper()
	key, err := channel.GenerateKey()
	check(t, err)
	e, err := roster.NewEntry(h.identity, h.hash(), "hub", identity.Coordinator, key.Pin(), h.sealing.Recipient())
	check(t, err)
	return e
}

// stranger returns a roster entry with new keys for a client of the given name.
func stranger(t testing.TB, h *hub, name identity.Name) roster.Entry {
	t.Helper()
	_, _, _, e := newEntry(t, h, name, identity.Client)
	return e
}

// A hub is a minimal coordinator that needs no network or disk.
type hub struct {
	t         testing.TB
	study     *study.Study
	source    []byte
	identity  *identity.Identity
	tls       *channel.Key
	sealing   *seal.Key
	entry     roster.Entry
	authority *channel.Authority

	tickets []invitation.Ticket
	members map[identity.Name]roster.Entry
	consent map[identity.Name]bool
	last    map[identity.Name][]byte
	reason  map[identity.Name]string // each client's reason for leaving

	chain    transcript.Chain
	server   *session.Server
	items    []transport.Item
	asked    int // number of times that clients requested a body that the hub had left out
	releases map[releaseKey]transport.Item
	receipts []transcript.Receipt
	// bodies has the decrypted answers, so that tests can compare them with the transcript.
	bodies map[releaseKey][]byte
	// waiting has new keys that the hub will put into the next version of the roster, which it
	// signs before its next plan. renewals has all renewals of the hub's own keys.
	waiting  map[identity.Name]roster.Renewal
	renewals [][]byte
	revoked  []roster.Revocation
	succeeds func()             // makes the hub use its new keys
	stolen   *identity.Identity // a client's identity that a thief has stolen
	swallow  bool               // keeps the next version of the roster out of the transcript
	forged   *roster.Roster     // roster that takes the place of the true one as the basis of the next version
	// lie, unless nil, changes an entry before the hub signs it.
	lie    func(e *session.Entry, model *transcript.Hash)
	result func([]byte) []byte
	// poison, unless nil, changes an answer after the hub has decrypted it.
	poison func(name identity.Name, payload []byte) []byte
	// rules, unless nil, changes the digest of the rules in the first transcript entry.
	rules    func(protocol *transcript.Hash)
	unsigned bool // whether outcomes lack the clients' signatures, as in an earlier version of the program
	sumsOnly bool // whether clients cannot fetch releases, as in an earlier version of the program
	// sums is the state of the secure sums, or nil without them.
	sums *hubSums
	// falsify, unless nil, changes a sum's elements after the clients have opened it.
	falsify func(elements []int64)
	// receipt, unless nil, changes all receipts in the last transcript entry.
	receipt func(r *transcript.Receipt)
}

type releaseKey struct {
	client identity.Name
	ask    uint64
}

func newHub(t testing.TB, source []byte) *hub {
	t.Helper()
	st, err := study.Parse("study.toml", source)
	check(t, err)
	h := &hub{
		t: t, study: st, source: source, members: map[identity.Name]roster.Entry{}, consent: map[identity.Name]bool{},
		last: map[identity.Name][]byte{}, reason: map[identity.Name]string{}, releases: map[releaseKey]transport.Item{}, waiting: map[identity.Name]roster.Renewal{}, bodies: map[releaseKey][]byte{},
	}
	h.identity, err = identity.Generate()
	check(t, err)
	h.tls, err = channel.GenerateKey()
	check(t, err)
	h.sealing, err = seal.Generate()
	check(t, err)
	h.entry, err = roster.NewEntry(h.identity, h.hash(), "hub", identity.Coordinator, h.tls.Pin(), h.sealing.Recipient())
	check(t, err)
	h.authority, err = channel.CreateAuthority(nil, filepath.Join(t.TempDir(), "keys", "authority.key"), h.hash(), today, today.AddDate(1, 0, 0))
	check(t, err)
	h.chain = transcript.Begin(h.hash(), h.identity.Public())
	return h
}

func (h *hub) hash() ledger.Hash { return sha256.Sum256(h.source) }

func (h *hub) invite(name identity.Name) invitation.Invitation {
	h.t.Helper()
	i, ticket, err := invitation.New(invitation.Invitation{
		Study: h.hash(), Name: name, Coordinator: h.identity.Fingerprint(), Pin: h.tls.Pin(),
		Addresses: []string{"hub.example.org:7443"}, Expires: today.Add(time.Hour),
	})
	check(h.t, err)
	h.tickets = append(h.tickets, ticket)
	return i
}

func (h *hub) Join(_ context.Context, r transport.JoinRequest) (transport.Admission, error) {
	e, err := roster.ParseEntry(r.Entry, h.hash())
	check(h.t, err)
	tickets, ticket, err := invitation.Redeem(h.tickets, h.hash(), r.Token, e.Key, today)
	if err != nil || ticket.Name != e.Name {
		return transport.Admission{}, &transport.Refusal{Reason: transport.Denied, Text: "no"}
	}
	h.tickets = tickets
	h.members[e.Name] = e
	certificate, err := h.authority.Issue(r.Request, channel.Party{Study: h.hash(), Role: e.Role, Name: e.Name}, e.Key, e.Pin, today, today.AddDate(0, 6, 0))
	check(h.t, err)
	return transport.Admission{Study: h.source, Authority: h.authority.Certificate(), Certificate: certificate, Coordinator: h.entry.Bytes()}, nil
}

// begin publishes the roster and the study's first plan.
func (h *hub) begin() {
	h.t.Helper()
	entries := []roster.Entry{h.entry}
	for _, name := range slices.Sorted(maps.Keys(h.members)) {
		entries = append(entries, h.members[name])
	}
	members, err := roster.New(h.hash(), entries)
	check(h.t, err)
	h.server, err = session.NewServer(h.study, h.clients())
	check(h.t, err)
	protocol := transcript.Hash(h.server.Digest())
	if h.rules != nil {
		h.rules(&protocol)
	}
	envelope, body, err := h.chain.Open(h.identity, members, protocol, h.server.Model(), h.server.Commits() && !h.unsigned, h.server.Fetches() && !h.sumsOnly)
	check(h.t, err)
	h.append(envelope, body)
	if h.study.Federation.Aggregation == study.Secure {
		h.beginSums()
		return // the first plan follows once the clients have sent their keys
	}
	h.ask()
}

// restart discards all answers and publishes the first plan again. It keeps the transcript.
func (h *hub) restart() {
	h.t.Helper()
	var err error
	h.server, err = session.NewServer(h.study, h.clients())
	check(h.t, err)
	h.server.Next()
	h.receipts = nil
}

func (h *hub) clients() []pvi.ClientID {
	var all []pvi.ClientID
	for _, name := range slices.Sorted(maps.Keys(h.members)) {
		all = append(all, pvi.ClientID(name))
	}
	return all
}

func (h *hub) append(envelope, body []byte) {
	h.t.Helper()
	chain, e, err := h.chain.Follow(envelope, body)
	check(h.t, err)
	h.chain = chain
	if h.sums != nil && e.Ask > 0 {
		check(h.t, h.sums.Follow(e, body))
	}
	h.items = append(h.items, transport.Item{Envelope: envelope, Body: body, Derived: e.Kind.Plan() || e.Kind.Outcome() && h.sums != nil})
}

func (h *hub) say(kind transcript.Kind, ask int, model transcript.Hash, body []byte) {
	h.t.Helper()
	envelope, err := h.chain.Sign(h.identity, kind, uint64(ask), model, body)
	check(h.t, err)
	h.append(envelope, body)
}

func (h *hub) sayEntry(e session.Entry) {
	h.t.Helper()
	model := h.server.Model()
	if m, ok := h.server.ModelOf(e.Plan); ok {
		model = m
	}
	if h.lie != nil {
		h.lie(&e, &model)
	}
	if kind := transcript.Kind(e.Kind); kind.Outcome() && h.chain.Commits() {
		e.Body = h.answered(e)
	}
	h.say(transcript.Kind(e.Kind), e.Plan, model, e.Body)
}

// answered returns an outcome's body together with the envelopes of the answers in the sum.
func (h *hub) answered(e session.Entry) []byte {
	a := transcript.Answered{Outcome: e.Body}
	counted, err := h.server.Counted(e)
	check(h.t, err)
	for _, id := range counted.Clients {
		a.Envelopes = append(a.Envelopes, h.releases[releaseKey{identity.Name(id), uint64(e.Plan)}].Envelope)
	}
	return a.Bytes()
}

// ask publishes all plans that are due. After the last plan, it publishes the result.
func (h *hub) ask() {
	h.t.Helper()
	h.version()
	for {
		plan, ok := h.server.Next()
		if !ok {
			break
		}
		h.sayEntry(plan)
	}
	if h.server.Done() {
		result, err := h.server.Result()
		check(h.t, err)
		b, err := result.Bytes()
		check(h.t, err)
		if h.result != nil {
			b = h.result(b)
		}
		for i := range h.receipts {
			if h.receipt != nil {
				h.receipt(&h.receipts[i])
			}
		}
		h.say(transcript.End, 0, h.server.Model(), closing(b, h.receipts))
	}
}

// close ends a plan even if some clients have not answered, and publishes the next plan.
func (h *hub) close(ask int) {
	h.t.Helper()
	outcome, err := h.server.Close(ask)
	check(h.t, err)
	h.sayEntry(*outcome)
	h.ask()
}

func (h *hub) submit(name identity.Name, item transport.Item) error {
	claims, err := signed.Claims(item.Envelope)
	check(h.t, err)
	if claims.Domain == signed.Keys || claims.Domain == signed.Share {
		return h.submitSums(claims.Domain, item)
	}
	key := releaseKey{name, claims.Round}
	if before, ok := h.releases[key]; ok {
		if string(before.Envelope) == string(item.Envelope) && string(before.Body) == string(item.Body) {
			return nil
		}
		h.t.Errorf("%s answers plan %d twice, with other bytes", name, claims.Round)
		return &transport.Refusal{Reason: transport.OutOfPlace, Text: "another answer"}
	}
	model, open := h.server.ModelOf(int(claims.Round))
	if !open {
		return &transport.Refusal{Reason: transport.OutOfPlace, Text: "too late"}
	}
	if h.sums != nil {
		return h.deal(key, item)
	}
	r, err := h.chain.VerifyRelease(item.Envelope, h.members[name].Key, claims.Round, model)
	check(h.t, err)
	if r.Body != transcript.BodyOf(item.Body) {
		h.t.Fatal("the body is not the signed one")
	}
	payload, err := h.sealing.Open(item.Body, r.Header.Bytes(), h.server.MaxRelease())
	check(h.t, err)
	if h.poison != nil {
		payload = h.poison(name, payload)
	}
	outcome, err := h.server.Collect(pvi.ClientID(name), int(claims.Round), payload)
	check(h.t, err)
	h.releases[key], h.bodies[key], h.last[name] = item, payload, item.Envelope
	h.receipts = append(h.receipts, transcript.ReceiptOf(name, r.Header, r.Hash))
	slices.SortFunc(h.receipts, compareReceipts)
	if outcome != nil {
		h.sayEntry(*outcome)
		h.ask()
	}
	return nil
}

func compareReceipts(a, b transcript.Receipt) int {
	return cmp.Or(cmp.Compare(a.Ask, b.Ask), cmp.Compare(a.Client, b.Client))
}

// A line is a client's connection to a hub.
type line struct {
	*hub
	name identity.Name
}

var errIdle = errors.New("there is no further entry")

func (l line) Standing(context.Context) (transport.Standing, error) {
	return transport.Standing{Entries: uint64(len(l.items)), Approved: l.consent[l.name], Last: l.last[l.name], Renewals: l.renewals}, nil
}

func (l line) Approve(_ context.Context, envelope []byte) error {
	key := l.members[l.name].Key
	if why, err := transcript.VerifyLeave(envelope, key, l.hash()); err == nil {
		l.reason[l.name] = why
		return nil
	}
	_, err := transcript.VerifyApproval(envelope, key, l.hash(), l.identity.Fingerprint())
	check(l.t, err)
	l.consent[l.name], l.last[l.name] = true, envelope
	return nil
}

// Entry returns errIdle for an entry that does not exist yet. It cannot wait for it, because tests
// run one client at a time.
func (l line) Entry(_ context.Context, number uint64) (transport.Item, error) {
	if number > uint64(len(l.items)) {
		return transport.Item{}, errIdle
	}
	item := l.items[number-1]
	if item.Derived && session.Foretells(l.study) {
		item.Body = nil
	}
	return item, nil
}

func (l line) Whole(_ context.Context, number uint64) (transport.Item, error) {
	l.asked++
	return l.items[number-1], nil
}

func (l line) Submit(_ context.Context, item transport.Item) error { return l.submit(l.name, item) }

// Release writes the release with the given hash to w.
func (l line) Release(_ context.Context, ask uint64, hash [32]byte, _ int64, w io.Writer) error {
	for key, body := range l.bodies {
		if own, err := l.server.Commitment(int(ask), body); key.ask == ask && err == nil && own == hash {
			return l.server.WriteRelease(w, int(ask), body)
		}
	}
	return &transport.Refusal{Reason: transport.Unknown, Text: "there is no such release"}
}

func (l line) Close() error { return nil }

var _ io.Closer = line{}

// closing returns the body of the last entry of a study.
func closing(result []byte, receipts []transcript.Receipt) []byte {
	var b bytes.Buffer
	write := func(w io.Writer) error { _, err := w.Write(result); return err }
	if err := transcript.WriteClosing(&b, len(result), write, receipts); err != nil {
		panic(err) // unreachable, because a buffer returns no errors
	}
	return b.Bytes()
}
