package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/transport"
)

// secureText returns a study with four clients. Three of them can open a sum, and one may collude
// with the coordinator.
func secureText(rounds int) []byte {
	return planeText(clientPrivacy, fmt.Sprintf("rounds = %d", rounds), "aggregation = \"secure\"\nmin_clients = 3\ncolluders = 1")
}

// A sharer is the part of a test client that handles secure aggregation. Like a real client, it
// keeps messages until they are sent, and sends them again after a failure.
type sharer struct {
	*sums.Client
	federation *sums.Federation
	confirmed  []byte    // unsent confirmation
	said       [2]uint64 // numbers of the plans that this client last confirmed and last shared
	gone       func(step sums.Step, ask uint64) bool
	dealt      map[uint64][]int64               // vectors that this client has dealt, keyed by plan number
	spoil      func(ask uint64, vector []int64) // unless nil, changes the vectors before they are dealt
}

func (p *party) shares(e transcript.Entry, chain transcript.Chain, body []byte) (err error) {
	if e.Kind == transcript.Roster {
		before := p.secure
		if p.secure = (&sharer{dealt: map[uint64][]int64{}}); before != nil {
			p.secure.dealt, p.secure.gone = before.dealt, before.gone
		}
		if p.secure.federation, err = sums.New(chain, max(p.document.Federation.MinClients, 1), p.site.VectorSize()); err == nil {
			p.secure.Client, err = sums.NewClient(p.secure.federation, p.peer.Name)
		}
		return err
	}
	if e.Ask == 0 {
		return nil
	}
	if e.Kind.Outcome() { // a client does the same checks before it applies an outcome
		sum, err := p.site.SumOf(sessionEntry(e, body))
		if err != nil {
			return err
		}
		names, elements, opened := p.secure.Sum()
		if sum.Elements != nil && (!opened || !slices.Equal(sum.Elements, elements) || !slices.Equal(sum.Participants, as[pvi.ClientID](names))) {
			return fmt.Errorf("the outcome of plan %d has another sum than its opening", e.Ask)
		}
	}
	return p.secure.Follow(e, body)
}

// message makes the client's next message of secure aggregation, and keeps it until it is sent.
func (p *party) message(ctx context.Context) (err error) {
	x := p.secure
	if p.outbox != nil || x.confirmed != nil || x.gone != nil && x.gone(x.Step(), x.Ask()) {
		return nil
	}
	put := func(envelope, body []byte, err error) error {
		p.outbox = &transport.Item{Envelope: envelope, Body: body}
		return err
	}
	if !x.Keyed() {
		return put(x.Keys(p.identity))
	}
	if ask, ok := p.site.Pending(); ok && x.Step() == sums.Dealing {
		a, err := p.site.Answer(seeded.Stream(1, "client", uint64(p.m), uint64(ask)))
		if err != nil {
			return err
		}
		if x.spoil != nil {
			x.spoil(x.Ask(), a.Vector)
		}
		d, err := x.Deal(a.Vector)
		if err != nil {
			return err
		}
		p.secure.dealt[x.Ask()] = a.Vector
		p.ledger++
		return put(d.Sign(p.identity, p.ledger, Hash{byte(p.ledger)}))
	}
	if x.Wants() {
		if err := p.gather(ctx); err != nil {
			return err
		}
	}
	switch {
	case x.Step() == sums.Confirming && x.said[0] < x.Ask():
		x.said[0] = x.Ask()
		x.confirmed, err = x.Confirm(p.identity)
		return err
	case x.Step() == sums.Sharing && x.said[1] < x.Ask():
		x.said[1] = x.Ask()
		return put(x.Share(p.identity))
	}
	return nil
}

func (p *party) gather(ctx context.Context) error {
	x := p.secure
	if of := x.Unknown(); len(of) > 0 {
		b, err := p.fetch(ctx, transport.Wanted{KeysOf: of})
		if err != nil {
			return err
		}
		for _, dealer := range of {
			if err := x.Learn(p.sealing, dealer, b[:sums.SealedKeySize]); err != nil {
				return err
			}
			b = b[sums.SealedKeySize:]
		}
	}
	b, err := p.fetch(ctx, transport.Wanted{Ask: x.Ask()})
	if err != nil {
		return err
	}
	return x.Gather(b)
}

// fetch reads a value in parts of 100 bytes. Before each part, it requests the value again, as a
// client does when it has lost its connection.
func (p *party) fetch(ctx context.Context, of transport.Wanted) ([]byte, error) {
	var b []byte
	for {
		from, err := p.house.study.Pieces(ctx, p.peer, of)
		if err != nil {
			return nil, err
		}
		n := min(100, int(from.Size())-len(b))
		if n == 0 {
			return b, nil
		}
		part := make([]byte, n)
		if err := from.Read(part, int64(len(b))); err != nil {
			return nil, err
		}
		b = append(b, part...)
	}
}

func (p *party) secureStep(ctx context.Context) (bool, error) {
	before := p.chain.Position().Number
	if err := p.follow(ctx); err != nil || p.secure == nil || p.chain.Position().Over {
		return p.chain.Position().Number > before, err
	}
	if err := p.message(ctx); err != nil {
		return false, outOfPlace(err)
	}
	did := p.outbox != nil || p.secure.confirmed != nil || p.chain.Position().Number > before
	if p.outbox != nil {
		if err := outOfPlace(p.link.Submit(ctx, *p.outbox)); err != nil {
			return false, err
		}
		p.outbox = nil
	}
	if p.secure.confirmed != nil {
		if err := outOfPlace(p.house.study.Confirm(ctx, p.peer, p.secure.confirmed)); err != nil {
			return false, err
		}
		p.secure.confirmed = nil
	}
	return did, nil
}

// outOfPlace returns nil if err is the refusal of a message that came too early or too late.
// Otherwise it returns err.
func outOfPlace(err error) error {
	var r *transport.Refusal
	if errors.As(err, &r) && r.Reason == transport.OutOfPlace {
		return nil
	}
	return err
}

var four = []identity.Name{"east", "north", "south", "west"}

// The posteriors must be the same with and without secure aggregation.
func TestSecureStudyIsPlayed(t *testing.T) {
	results := map[string][]byte{}
	for _, aggregation := range []string{"secure", "coordinator"} {
		h, parties := begun(t, Options{}, []byte(strings.Replace(string(secureText(3)), "\"secure\"", "\""+aggregation+"\"", 1)), four...)
		play(t, parties...)
		p, err := h.study.Posterior(t.Context())
		check(t, err)
		results[aggregation] = []byte(fmt.Sprint(p.Result.Natural, p.Result.Accepted))
		if p.Result.Accepted != 3 {
			t.Errorf("%s: %d rounds were accepted", aggregation, p.Result.Accepted)
		}
		r, err := verified(t, h)
		if err != nil || r.Answers != 12 || r.Ending != "end" {
			t.Errorf("%s: the bundle: %+v, %v", aggregation, r, err)
		}
	}
	if string(results["secure"]) != string(results["coordinator"]) {
		t.Errorf("%s\n%s", results["secure"], results["coordinator"])
	}
}

// One client misses a step of a round. The others must open the sum without it, and it must be able
// to take part in the next round.
func TestSecureRoundWithoutOneClient(t *testing.T) {
	var hours atomic.Int64 // atomic because the coordinator's goroutines read it
	now := func() time.Time { return time.Unix(1e9, 0).Add(time.Duration(hours.Load()) * time.Hour) }
	for _, step := range []sums.Step{sums.Dealing, sums.Confirming, sums.Sharing} {
		h, parties := begun(t, Options{Now: now}, secureText(3), four...)
		play(t, parties[:0]...)
		once(t, parties...)
		parties[2].secure.gone = func(at sums.Step, ask uint64) bool { return at == step && ask == 1 }
		play(t, parties...)
		if step == sums.Dealing {
			hours.Add(1)
			for _, p := range parties {
				_, err := p.link.Standing(t.Context()) // makes the coordinator look at its clock
				check(t, err)
			}
		}
		play(t, parties...)
		p, err := h.study.Posterior(t.Context())
		if err != nil || p.Result.Accepted != 3 {
			t.Errorf("missing at step %d: %v, %v", step, p, err)
		}
		var b strings.Builder
		check(t, h.study.WriteBundle(&b))
		_, err = bundle.Verify(strings.NewReader(b.String()))
		check(t, err)
	}
}

// The plans, outcomes and result must be the same as without a kill, bit for bit.
//
//abuse:case A01 also with secure aggregation, whose steps are one transaction each
func TestSecureKilledAtEveryTransaction(t *testing.T) {
	for name, long := range map[string]int64{"in the database": 0, "in files": 8} {
		t.Run(name, func(t *testing.T) {
			killedEverywhere(t, secureText(1), four, 1, long, func(at int, _ bool) bool {
				return os.Getenv("FEDPVI_LONG") != "" || at%16 == 1
			})
		})
	}
}

// The status must show which messages the study is waiting for, and how many.
func TestSecureStatus(t *testing.T) {
	h, parties := begun(t, Options{}, secureText(1), four...)
	waits := func(want, step string) {
		t.Helper()
		s := h.mustStatus()
		if s.Waits != want || step != "" && (len(s.Open) != 1 || s.Open[0].Step != step) {
			t.Errorf("it waits for %q, want %q: %+v", s.Waits, want, s.Open)
		}
	}
	waits("the keys of 3 clients", "")
	once(t, parties[0])
	waits("the keys of 2 clients", "")
	if s, err := h.study.Status(t.Context()); err != nil || !slices.Equal(s.For, []string{"north", "south", "west"}) {
		t.Errorf("it waits for %v, %v", s.For, err)
	}
	once(t, parties[1:]...)
	waits("answers", "deals")
	once(t, parties...)
	waits("3 confirmations", "confirmations")
	once(t, parties[:2]...)
	waits("1 confirmation", "confirmations")
	once(t, parties[2])
	waits("3 shares", "shares")
	once(t, parties...)
	once(t, parties...)
	waits("", "")
}
