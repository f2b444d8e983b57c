package client_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// Renew accepts a client's new keys and returns a certificate.
func (l line) Renew(_ context.Context, r transport.RenewRequest) (transport.Renewed, error) {
	e := l.members[l.name]
	if w, ok := l.waiting[l.name]; ok {
		e = w.Entry
	}
	if r.Renewal != nil {
		renewal, err := roster.ParseRenewal(r.Renewal, l.hash())
		check(l.t, err)
		if !bytes.Equal(renewal.Entry.Bytes(), e.Bytes()) {
			check(l.t, renewal.Check(l.hash(), l.members[l.name]))
			if e = renewal.Entry; l.server == nil {
				l.members[l.name] = e
			} else {
				l.waiting[l.name] = renewal
			}
		}
	}
	certificate, err := l.authority.Issue(r.Request, channel.Party{Study: l.hash(), Role: e.Role, Name: e.Name}, e.Key, e.Pin, today, today.AddDate(0, 6, 0))
	check(l.t, err)
	signature := l.authority.Vouch(l.identity)
	return transport.Renewed{Certificate: certificate, Authority: l.authority.Certificate(), Signature: signature[:], Renewals: l.renewals}, nil
}

func newEntry(t testing.TB, h *hub, name identity.Name, role identity.Role) (*identity.Identity, *channel.Key, *seal.Key, roster.Entry) {
	t.Helper()
	i, err := identity.Generate()
	check(t, err)
	key, err := channel.GenerateKey()
	check(t, err)
	sealing, err := seal.Generate()
	check(t, err)
	e, err := roster.NewEntry(i, h.hash(), name, role, key.Pin(), sealing.Recipient())
	check(t, err)
	return i, key, sealing, e
}

// rotate gives the hub new keys, which take effect with the next version of the roster.
func (h *hub) rotate() {
	h.t.Helper()
	who, key, sealing, e := newEntry(h.t, h, "hub", identity.Coordinator)
	renewal := roster.Renew(h.identity, h.hash(), h.entry, e)
	use := func() {
		h.identity, h.tls, h.sealing, h.entry = who, key, sealing, e
		h.renewals = append(h.renewals, renewal.Bytes())
	}
	if h.server == nil {
		use()
		h.chain = transcript.Begin(h.hash(), who.Public())
		return
	}
	h.waiting["hub"], h.succeeds = renewal, use
}

// version signs the next version of the roster if keys were renewed or revoked.
func (h *hub) version() {
	h.t.Helper()
	var change roster.Change
	for _, e := range h.chain.Members().Entries {
		if r, ok := h.waiting[e.Name]; ok {
			change.Renewed = append(change.Renewed, r)
		}
	}
	change.Revoked, h.revoked = h.revoked, nil
	if len(change.Renewed)+len(change.Revoked) == 0 {
		return
	}
	chain := h.chain
	if h.forged != nil {
		chain = chain.With(h.forged)
	}
	envelope, body, err := chain.Change(h.identity, change, h.server.Model())
	check(h.t, err)
	if h.forged != nil {
		h.items = append(h.items, transport.Item{Envelope: envelope, Body: body})
		return
	}
	h.append(envelope, body)
	if h.swallow {
		h.items = h.items[:len(h.items)-1]
	}
	for _, r := range change.Renewed {
		if r.Entry.Role == identity.Client {
			h.members[r.Entry.Name] = r.Entry
		}
	}
	if h.succeeds != nil {
		h.succeeds()
	}
	h.succeeds = nil
	clear(h.waiting)
}

// rotate makes new keys for a data holder. Unless it is nil, boundary is called at each commit.
func (p *holder) rotate(boundary func(string) error) error {
	p.t.Helper()
	c := p.openWith(boundary)
	m, err := c.Member("")
	if err == nil {
		err = c.Rotate(p.t.Context(), m, func(context.Context) (client.Renewer, func() error, error) {
			return line{p.hub, p.name}, func() error { return nil }, nil
		})
	}
	check(p.t, c.Close())
	return err
}

func (p *holder) parties() (r *client.Members) {
	p.t.Helper()
	check(p.t, p.with(func(c *client.Client, m *client.Member, policy *client.Policy) (err error) {
		r, err = c.Roster(m, policy)
		return err
	}))
	return r
}

// In the middle of a study, a client and the coordinator get new keys. The test kills the client at
// each commit, both while it makes the keys and during the run.
//
//abuse:case A01 a client that is killed while its keys change continues with one charge for each answer
//abuse:case P10 a client follows new keys of its own and of the coordinator
func TestKilledClientGetsNewKeys(t *testing.T) {
	source := planeStudy(recordPrivacy, "", "")
	_, all := begun(t, source, "north", "south")
	want := play(t, all)[0]

	h, all := begun(t, source, "north", "south")
	north := all[0]
	first := exported(t, north).Fingerprint
	north.mustStep()
	for n := 1; ; n++ {
		err := north.rotate(killAt(n))
		if errors.Is(err, errKilled) {
			continue
		}
		check(t, err)
		if n < 3 {
			t.Errorf("new keys were made with %d commits", n-1)
		}
		break
	}
	if err := north.rotate(nil); client.CodeOf(err) != client.Declined {
		t.Errorf("new keys while others wait: %v", err)
	}
	h.rotate()
	before := h.entry
	for range 30 {
		for north.killed(1) && north.killed(2) {
		}
		all[1].mustStep()
	}
	ending, err := north.step()
	check(t, err)
	if ending == nil || string(ending.Result) != string(want.Result) {
		t.Fatalf("the result differs: %+v", ending)
	}
	one(t, h, north)
	if r := exported(t, north); r.Fingerprint != first || r.Title.Entries < 2 {
		t.Errorf("the ledger is signed by %s and not by the first identity, %d entries", r.Fingerprint.Short(), r.Title.Entries)
	}
	for pattern, want := range map[string]int{"identity*.key": 2, "studies/*/tls*.key": 1, "studies/*/sealing*.key": 0} {
		if files, err := filepath.Glob(filepath.Join(north.dir, pattern)); err != nil || len(files) < 1 && want > 0 || want <= 1 && len(files) != want {
			t.Errorf("keys after the study: %v, %v", files, err)
		}
	}
	r := north.parties()
	if r.Version != 2 || r.NewKeys != "" || h.entry.Key == before.Key {
		t.Errorf("version %d, new keys %q", r.Version, r.NewKeys)
	}
	for _, p := range r.Parties {
		e, _ := h.chain.Members().Named(p.Name)
		if p.Fingerprint != e.Key.Fingerprint() || (p.First != nil) != (p.Name != "south") {
			t.Errorf("%+v", p)
		}
	}
	x := exportOf(t, north)
	if entries, err := x.Entries(h.hash(), before.Key.Fingerprint()); err != nil || len(entries) != len(h.items) {
		t.Errorf("the exported transcript has %d entries, %v", len(entries), err)
	}
}

func exported(t *testing.T, p *holder) *ledger.Report {
	t.Helper()
	var b bytes.Buffer
	check(t, p.with(func(c *client.Client, _ *client.Member, _ *client.Policy) error { return c.Store().Export(&b, p.now()) }))
	r, err := ledger.Verify(&b)
	check(t, err)
	return r
}

func exportOf(t *testing.T, p *holder) (x *transcript.Export) {
	t.Helper()
	check(t, p.with(func(c *client.Client, m *client.Member, _ *client.Policy) (err error) {
		x, err = c.Export(m)
		return err
	}))
	return x
}

func TestCertificateIsRenewedInTime(t *testing.T) {
	_, all := begun(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	north := all[0]
	certificate := func() (der []byte) {
		check(t, north.with(func(_ *client.Client, m *client.Member, _ *client.Policy) error {
			der = m.Certificate
			return nil
		}))
		return der
	}
	first := certificate()
	c, err := x509.ParseCertificate(first)
	check(t, err)
	due := c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3).Sub(today)
	for _, tc := range []struct {
		at    time.Duration
		fresh bool
	}{{due - time.Hour, false}, {due + time.Hour, true}} {
		north.late = tc.at
		north.mustStep()
		if got := !bytes.Equal(certificate(), first); got != tc.fresh {
			t.Errorf("after %v: another certificate: %v", tc.at, got)
		}
	}
}

// The client must consent again, with its new identity.
func TestNewKeysBeforeTheBeginning(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	var all []*holder
	for m, name := range []identity.Name{"north", "south"} {
		p := newHolder(t, h, name, m)
		check(t, p.approve())
		all = append(all, p)
	}
	check(t, all[0].rotate(nil))
	h.rotate()
	for _, p := range all {
		p.mustStep()
	}
	h.rotate() // the clients are still waiting for the study to begin
	h.begin()
	play(t, all)
	one(t, h, all[0])
}

//abuse:case P10 a version of the roster that is forged, left out, or comes within a round stops the client
//abuse:case A05 a coordinator that signs two successions of its keys is noticed
func TestLyingVersionsOfTheRoster(t *testing.T) {
	for says, lie := range map[string]func(h *hub){
		"with its own keys": func(h *hub) { // a thief who has stolen north's identity
			_, _, _, e := newEntry(t, h, "north", identity.Client)
			h.waiting["north"] = roster.Renew(h.stolen, h.hash(), h.members["north"], e)
		},
		"keys of this client were revoked: a laptop": func(h *hub) {
			h.revoked = []roster.Revocation{{Name: "north", Reason: "a laptop"}}
		},
		"while a plan is open": func(h *hub) {
			h.revoked = []roster.Revocation{{Name: "south", Reason: "early"}}
			h.version()
		},
		"not signed with its previous identity": func(h *hub) {
			_, _, _, e := newEntry(t, h, "south", identity.Client)
			stranger, err := identity.Generate()
			check(t, err)
			fake, err := roster.NewEntry(stranger, h.hash(), "south", identity.Client, identity.Pin{9}, e.Recipient)
			check(t, err)
			members := append([]roster.Entry{fake}, h.members["north"], h.entry)
			h.forged, err = roster.New(h.hash(), members)
			check(t, err)
			h.waiting["south"] = roster.Renew(stranger, h.hash(), fake, e)
		},
		"belongs to another roster": func(h *hub) {
			h.revoked = []roster.Revocation{{Name: "south", Reason: "in silence"}}
			h.swallow = true
		},
	} {
		t.Run(says, func(t *testing.T) {
			h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
			north := all[0]
			check(t, north.with(func(c *client.Client, _ *client.Member, _ *client.Policy) error {
				h.stolen = c.Store().Identity()
				return nil
			}))
			h.begin()
			north.mustStep()
			lie(h)
			_, _ = all[1].step()
			before := north.account().Spent
			_, err := north.step()
			if client.CodeOf(err) != client.Declined || !strings.Contains(fmt.Sprint(err), says) {
				t.Errorf("code %d: %v", client.CodeOf(err), err)
			}
			if after := north.account().Spent; after != before {
				t.Errorf("spent %g, and %g after the lie", before, after)
			}
		})
	}
	t.Run("two successions", func(t *testing.T) {
		h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
		first := *h
		h.rotate()
		all[0].mustStep()
		h.identity, h.entry, h.renewals = first.identity, first.entry, nil
		h.rotate()
		if _, err := all[0].step(); client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), "two successions") {
			t.Errorf("code %d: %v", client.CodeOf(err), err)
		}
	})
}

// In the policy, participants.known lists the clients that may be in a study.
//
//abuse:case A05 a roster with a client that the policy does not know is refused before the first answer, and the review shows it
func TestPolicyKnowsTheClients(t *testing.T) {
	h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	north := all[0]
	south := h.members["south"].Key.Fingerprint().String()
	north.edit("# known = []", `known = ["`+strings.Repeat("0", 64)+`"]`)
	check(t, north.approve())
	h.begin()
	north.stops("an unknown client", client.Declined, "participants.known", 0)
	problems := func() []string { return north.review().Problems }
	if got := problems(); len(got) != 1 || !strings.Contains(got[0], south) {
		t.Errorf("the review has the problems %q", got)
	}
	if err := north.approve(); client.CodeOf(err) != client.Declined {
		t.Errorf("approved with an unknown client: %v", err)
	}
	if p := north.parties().Parties; len(p) != 3 || p[2].State != "not recognised" {
		t.Errorf("the roster: %+v", p)
	}
	north.edit(strings.Repeat("0", 64), south)
	check(t, north.approve())
	if got := problems(); len(got) != 0 {
		t.Errorf("the review has the problems %q", got)
	}
	if p := north.parties().Parties; p[2].State != "known" {
		t.Errorf("the roster: %+v", p)
	}
	play(t, all)
	one(t, h, north)
}

// If the roster changes, an approval of the old roster must not count.
//
//abuse:case A05 where the policy asks for it, the data holder approves the roster before the first answer
func TestDataHolderApprovesTheRoster(t *testing.T) {
	h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	north := all[0]
	north.edit("# review = true", "review = true")
	check(t, north.approve())
	h.begin()
	north.stops("a roster without an approval", client.Declined, "client roster", 0)
	text := north.reviewText()
	if short := h.members["south"].Key.Fingerprint().Short(); !strings.Contains(text, "south ("+short+")") {
		t.Errorf("the review does not show south and %s:\n%s", short, text)
	}
	check(t, north.approve())
	play(t, all)
	one(t, h, north)
}
