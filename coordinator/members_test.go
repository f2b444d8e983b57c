package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// A successor has the keys of a party after a renewal.
type successor struct {
	keys
	renewal roster.Renewal
}

// succeed makes new keys for a party and signs them with the earlier identity.
func (p *party) succeed() *successor {
	k := newKeys(p.house.t, p.peer)
	return &successor{k, roster.Renew(p.identity, p.invited.Study, p.entry, k.entry)}
}

func (s *successor) asks() transport.RenewRequest {
	return transport.RenewRequest{Request: s.request, Renewal: s.renewal.Bytes()}
}

func (p *party) adopt(s *successor) {
	p.keys, p.next = s.keys, nil
}

func (p *party) version(e transcript.Entry, chain transcript.Chain) error {
	own, _ := chain.Members().Named(p.peer.Name)
	if !bytes.Equal(own.Bytes(), p.entry.Bytes()) {
		if p.next == nil || !bytes.Equal(own.Bytes(), p.next.entry.Bytes()) {
			return errors.New("the roster has keys that this client did not make")
		}
		p.adopt(p.next)
	}
	p.hub = chain.Members().Coordinator()
	if p.house.study.secure() {
		p.outbox = nil
		return p.shares(e, chain, nil)
	}
	return nil
}

// rotate sends the party's new keys to the coordinator. Further calls send the same keys.
func (p *party) rotate(ctx context.Context) error {
	if p.next == nil {
		p.next = p.succeed()
	}
	_, err := p.house.study.Renew(ctx, channel.Party{}, p.next.asks())
	return err
}

// playRotated runs a study and kills the coordinator at the point that g specifies. After the first
// plan, two clients and the coordinator get new keys, and one client's keys are revoked.
func playRotated(t *testing.T, document []byte, g *guillotine) (bodies [32]byte, commits int, h *house, parties []*party) {
	at := g.at
	g.at = 0 // commits before the changes do not count
	h, parties = begun(t, Options{Store: store.Options{Commit: g.commit}}, document, four...)
	once(t, parties...)
	g.at, g.seen = at, 0
	for _, p := range parties[:2] {
		h.survive(g, func() error { return p.rotate(t.Context()) })
	}
	h.survive(g, func() error {
		err := h.study.Rotate(t.Context())
		if err != nil && strings.Contains(err.Error(), "already has new keys") {
			return nil
		}
		return err
	})
	west := parties[3]
	h.survive(g, func() error {
		err := h.study.Revoke(t.Context(), west.peer.Name, "its laptop was stolen")
		if err != nil && strings.Contains(err.Error(), "no longer takes part") {
			return nil
		}
		return err
	})
	h.playSurviving(g, parties[:3]...)
	if s := h.mustStatus(); s.Phase != Ended || s.Roster != 2 && s.Roster != 3 {
		t.Fatalf("the study is %s, waiting for %s %v, with version %d of the roster", s.Phase, s.Waits, s.For, s.Roster)
	}
	sum := sha256.New()
	for _, i := range parties[0].entries {
		e, err := transcript.Claims(i.Envelope)
		check(t, err)
		if e.Kind.Plan() || e.Kind.Outcome() {
			sum.Write(i.Body)
		}
	}
	return [32]byte(sum.Sum(nil)), g.seen, h, parties
}

// The roster changes while a study is running, and the test kills the coordinator at every commit.
// The rounds must be the same as without a kill, bit for bit. The transcript must have every
// version of the roster, and the coordinator must refuse the revoked client, even after a restart.
//
//abuse:case A01 new keys and revocations survive a kill at every commit, and the rounds are the same to the last bit
//abuse:case P10 keys change between rounds, in a transcript that verify accepts
func TestRosterChangesKilledAtEveryTransaction(t *testing.T) {
	for name, document := range map[string][]byte{
		"by the coordinator": planeText(clientPrivacy, "rounds = 3", "min_clients = 3"),
		"secure":             secureText(3),
	} {
		t.Run(name, func(t *testing.T) {
			var undisturbed [32]byte
			var commits int
			t.Run("undisturbed", func(t *testing.T) {
				var h *house
				var parties []*party
				undisturbed, commits, h, parties = playRotated(t, document, &guillotine{})
				checkRotated(t, h, parties)
			})
			step := 5
			if os.Getenv("FEDPVI_LONG") != "" {
				step = 1
			}
			for at := 1; at <= commits; at += step {
				for name, g := range map[string]guillotine{"before it": {at: at}, "after it": {at: at, after: true}, "it fails": {at: at, once: true}} {
					t.Run(fmt.Sprintf("commit %d, %s", at, name), func(t *testing.T) {
						t.Parallel()
						got, _, h, parties := playRotated(t, document, &g)
						if got != undisturbed {
							t.Error("the rounds differ from the undisturbed ones")
						}
						checkRotated(t, h, parties)
					})
				}
			}
		})
	}
}

func checkRotated(t *testing.T, h *house, parties []*party) {
	t.Helper()
	h.restart()
	members, own := parties[0].chain.Members(), h.study.st.own
	if members.Coordinator().Key == h.study.founder.Key || own.Key != members.Coordinator().Key || parties[0].next != nil || parties[1].next != nil {
		t.Error("the new keys are not in force")
	}
	if west := parties[3]; members.Valid("west") {
		t.Error("the keys of west are valid")
	} else if _, err := h.study.Standing(t.Context(), west.peer); reasonOf(t, err) != transport.Denied {
		t.Errorf("the revoked client calls: %v", err)
	} else if _, err := h.study.Renew(t.Context(), channel.Party{}, transport.RenewRequest{Request: west.request}); reasonOf(t, err) != transport.Denied || !strings.Contains(err.Error(), "laptop") {
		t.Errorf("the revoked client renews: %v", err)
	} else if _, ok := h.study.pin(west.peer); ok {
		t.Error("the TLS key of the revoked client is accepted")
	}
	if pin, ok := h.study.pin(parties[0].peer); !ok || pin != parties[0].tls.Pin() {
		t.Error("the new TLS key is not accepted")
	}
	first, err := roster.Parse(parties[0].entries[0].Body, h.study.hash)
	check(t, err)
	for i, p := range parties[:3] {
		before, _ := first.Named(p.peer.Name)
		want := before.Key.Fingerprint()
		if i == 2 { // this party still has its old keys
			want = identity.Fingerprint{}
		}
		if got := h.study.st.clients[p.peer.Name].former; got != want {
			t.Errorf("the identity of %s before its renewal is %s, want %s", p.peer.Name, got, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(h.hub.files.study(h.study.hash), "sealing*.key")); err != nil || len(left) != 0 {
		t.Errorf("sealing keys are left: %v, %v", left, err)
	}
	if r, err := verified(t, h); err != nil || r.Ending != "end" {
		t.Errorf("the bundle: %+v, %v", r, err)
	}
	if h.study.secure() {
		return
	}
	for _, e := range parties[0].entries {
		if c, err := transcript.Claims(e.Envelope); err != nil || c.Kind == transcript.End {
			check(t, err)
			closing, err := transcript.ParseClosing(e.Body)
			check(t, err)
			for _, r := range closing.Receipts {
				if r.Client == "west" && r.Ask > 1 {
					t.Errorf("an answer of the revoked client to plan %d counts", r.Ask)
				}
			}
		}
	}
}

// A virtual is a clock that a test moves forward.
type virtual struct{ seconds atomic.Int64 }

func newVirtual(now time.Time) *virtual {
	v := new(virtual)
	v.seconds.Store(now.Unix())
	return v
}

func (v *virtual) Now() time.Time { return time.Unix(v.seconds.Load(), 0) }

func (v *virtual) pass(d time.Duration) { v.seconds.Add(int64(d / time.Second)) }

// renewed requests a certificate as a guest, and checks the certificate.
func (p *party) renewed(t *testing.T, now time.Time) transport.Renewed {
	t.Helper()
	r, err := p.house.study.Renew(t.Context(), channel.Party{}, transport.RenewRequest{Request: p.request})
	check(t, err)
	check(t, channel.CheckAuthority(r.Authority, p.invited.Study, p.hub.Key, r.Signature))
	c, err := channel.NewCredentials(p.peer, p.tls, r.Authority, r.Certificate, now)
	check(t, err)
	if left := c.Expires().Sub(now); left != 90*24*time.Hour {
		t.Errorf("the new certificate is valid for %v", left)
	}
	authority, err := x509.ParseCertificate(r.Authority)
	check(t, err)
	if valid := authority.NotAfter.Sub(authority.NotBefore) - channel.Skew; valid != 365*24*time.Hour {
		t.Errorf("the certificate of the authority is valid for %v", valid)
	}
	return r
}

// The clients stay away for 91 days before the study begins, and twice for 400 days while it runs,
// so that their certificates expire. They must be able to come back, and the study must end with a
// result. The coordinator must accept repeated requests, and must refuse those that come from
// another client or have its key.
//
//abuse:case A06 a renewed certificate needs the identity and the TLS key of the client: a request sent again gives nothing to others
//abuse:case P10 a study lives longer than its certificates: clients come back after 91 and after 400 days
func TestClientsComeBackAfterTheirCertificates(t *testing.T) {
	for name, restart := range map[string]bool{"running": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			clock := newVirtual(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
			h, parties := founded(t, Options{Now: clock.Now}, planeText(clientPrivacy, "rounds = 3", ""), two...)
			later := func(days int) {
				clock.pass(time.Duration(days) * 24 * time.Hour)
				if restart {
					h.restart()
				}
			}
			for _, p := range parties {
				check(t, p.join(t.Context()))
			}
			later(91)
			for _, p := range parties {
				p.renewed(t, clock.Now())
				check(t, p.approve(t.Context()))
			}
			north, south := parties[0], parties[1]
			once(t, parties...)
			for range 2 {
				later(400)
				for _, p := range parties {
					first, before := p.renewed(t, clock.Now()), h.content()
					if second := p.renewed(t, clock.Now()); bytes.Equal(first.Certificate, second.Certificate) {
						t.Error("a certificate was not renewed")
					}
					if !reflect.DeepEqual(before, h.content()) {
						t.Error("a renewal has written to the store")
					}
				}
			}
			foreign, err := channel.NewRequest(south.identity, north.tls, north.peer)
			check(t, err)
			stolen, err := channel.NewRequest(north.identity, south.tls, north.peer)
			check(t, err)
			for name, request := range map[string][]byte{"another identity": foreign, "another TLS key": stolen, "nothing": nil, "half": north.request[:100]} {
				if _, err := h.study.Renew(t.Context(), channel.Party{}, transport.RenewRequest{Request: request}); reasonOf(t, err) != transport.Malformed {
					t.Errorf("a renewal with %s: %v", name, err)
				}
			}
			if _, err := h.study.Renew(t.Context(), south.peer, transport.RenewRequest{Request: north.request}); reasonOf(t, err) != transport.Malformed {
				t.Errorf("a client renews for another: %v", err)
			}
			play(t, parties...)
			if s := h.mustStatus(); s.Phase != Ended {
				t.Errorf("the study is %s: %s", s.Phase, s.Waits)
			}
			north.renewed(t, clock.Now()) // north must still be able to read the result
		})
	}
}

// Only a client's present identity can introduce new keys. A thief who has stolen an identity can
// do so at most once, and the client then notices the theft. The coordinator must accept neither
// keys nor messages from an identity that was replaced.
//
//abuse:case P10 an identity that was stolen before its rotation is worth nothing after it
func TestStolenIdentityAfterRotation(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 3", ""), two...)
	north := parties[0]
	thief := *north // the thief has the keys that north had before the rotation
	once(t, parties...)
	check(t, north.rotate(t.Context()))
	check(t, north.rotate(t.Context())) // repeating the same request is allowed
	refused := func(what string, r transport.RenewRequest) {
		t.Helper()
		if _, err := h.study.Renew(t.Context(), channel.Party{}, r); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	refused("a second renewal by the thief", thief.succeed().asks())
	refused("a certificate for the old key", transport.RenewRequest{Request: thief.request})
	if pin, _ := h.study.pin(north.peer); pin != north.next.tls.Pin() {
		t.Error("the TLS key before the renewal is accepted")
	}
	play(t, parties...)
	if north.next != nil || h.mustStatus().Phase != Ended {
		t.Fatalf("north does not have its new keys at the end: %+v", h.mustStatus())
	}
	refused("a renewal after the end", north.succeed().asks())
	refused("a renewal with the old identity", thief.succeed().asks())
	if _, err := h.study.Renew(t.Context(), channel.Party{}, transport.RenewRequest{Request: north.request}); err != nil {
		t.Errorf("a certificate after the end: %v", err)
	}
}

// Before the study begins, one client gets new keys. Another, whose invitation was stolen, is
// removed. A new client must be able to join under its name, and the thief must not.
//
//abuse:case P11 whoever joined with a stolen invitation is removed, and the invitation can be made again
func TestMembersChangeBeforeTheBeginning(t *testing.T) {
	h, parties := founded(t, Options{}, planeText(clientPrivacy, "rounds = 2", ""), two...)
	north, thief := parties[0], parties[1]
	admit(t, north)
	check(t, thief.join(t.Context()))
	check(t, h.study.Revoke(t.Context(), "south", "somebody else used its invitation"))
	h.restart()
	if err := thief.join(t.Context()); reasonOf(t, err) != transport.Denied {
		t.Errorf("the thief joins again: %v", err)
	}
	if _, err := h.study.Standing(t.Context(), thief.peer); reasonOf(t, err) != transport.Denied {
		t.Errorf("the thief calls: %v", err)
	}
	check(t, north.rotate(t.Context()))
	north.adopt(north.next)
	check(t, h.study.Rotate(t.Context()))
	h.restart()
	s := h.mustStatus()
	if len(s.Clients) != 2 || s.Clients[0].State != stateJoined || s.Clients[1].State != stateExpired {
		t.Fatalf("the clients: %+v", s.Clients)
	}
	south := h.invite("south")[0]
	admit(t, south)
	standing, err := h.study.Standing(t.Context(), north.peer)
	check(t, err)
	if north.hub, err = roster.Latest(north.invited.Study, north.hub, standing.Renewals); err != nil || standing.Approved {
		t.Fatalf("the coordinator's new keys: %v, and north has consented: %v", err, standing.Approved)
	}
	north.chain = transcript.Begin(north.invited.Study, north.hub.Key)
	north.invited.Coordinator = north.hub.Key.Fingerprint()
	check(t, north.approve(t.Context()))
	play(t, north, south)
	if s := h.mustStatus(); s.Phase != Ended || s.Roster != 1 {
		t.Errorf("%+v", s)
	}
	if _, err := verified(t, h); err != nil {
		t.Errorf("the bundle: %v", err)
	}
}

//abuse:case P10 a restarted coordinator remembers a revocation that is not in the roster yet
func TestRevocationSurvivesARestart(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 3", "min_clients = 3"), four...)
	once(t, parties[:2]...)
	west := parties[3]
	check(t, h.study.Revoke(t.Context(), "west", "its laptop was stolen"))
	h.restart()
	if s := h.mustStatus(); s.Roster != 1 || len(s.Open) != 1 || s.Clients[3].State != stateRevoked {
		t.Errorf("%+v", s)
	}
	if _, err := h.study.Standing(t.Context(), west.peer); reasonOf(t, err) != transport.Denied {
		t.Errorf("the revoked client calls: %v", err)
	}
	play(t, parties[:3]...)
	if s := h.mustStatus(); s.Phase != Ended || s.Roster != 2 || parties[0].chain.Members().Valid("west") {
		t.Errorf("%+v", s)
	}
}

// A client repeats an answer because the reply was lost. In the meantime, the plan was closed, and
// both the coordinator and the client got new keys. The coordinator must acknowledge the answer as
// before, and must have destroyed its earlier sealing key.
func TestAnswerIsRepeatedAfterNewKeys(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 3", "min_clients = 3"), four...)
	north := parties[0]
	item := north.prepare(t)
	check(t, north.link.Submit(t.Context(), item))
	check(t, north.rotate(t.Context()))
	check(t, h.study.Rotate(t.Context()))
	once(t, parties[1:]...)
	if s := h.mustStatus(); s.Roster != 2 {
		t.Fatalf("the roster has version %d", s.Roster)
	}
	if left, err := filepath.Glob(filepath.Join(h.hub.files.study(h.study.hash), "sealing*.key")); err != nil || len(left) != 1 || filepath.Base(left[0]) != "sealing-2.key" {
		t.Errorf("with new keys in force the sealing keys are %v, %v", left, err)
	}
	check(t, north.link.Submit(t.Context(), item))
	north.outbox = nil
	play(t, parties...)
	check(t, north.link.Submit(t.Context(), item))
}

func TestRevokeIsRefused(t *testing.T) {
	h, _ := begun(t, Options{}, planeText(clientPrivacy, "rounds = 2", ""), two...)
	revoke := func(name identity.Name, why string) error { return h.study.Revoke(t.Context(), name, why) }
	for name, why := range map[identity.Name]string{"east": "unknown", "coordinator": "itself", "north": "two\nlines"} {
		if err := revoke(name, why); err == nil {
			t.Errorf("%s was revoked for %q", name, why)
		}
	}
	if err := revoke("north", "all are needed"); err == nil || !strings.Contains(err.Error(), "coordinator abort") {
		t.Errorf("revoked below min_clients: %v", err)
	}
	check(t, h.study.Abort(t.Context(), "enough"))
	if err := revoke("north", "late"); err == nil {
		t.Error("revoked after the end")
	}
	if err := h.study.Rotate(t.Context()); err == nil {
		t.Error("rotated after the end")
	}
}

func TestRenewalsAreLimited(t *testing.T) {
	_, parties := founded(t, Options{}, planeText(clientPrivacy, "rounds = 2", ""), two...)
	north := parties[0]
	check(t, north.join(t.Context()))
	for range 16 {
		check(t, north.rotate(t.Context()))
		north.adopt(north.next)
	}
	if err := north.rotate(t.Context()); reasonOf(t, err) != transport.OutOfPlace {
		t.Errorf("one renewal more: %v", err)
	}
}
