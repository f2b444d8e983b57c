package sums

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/cryptotest"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
)

var study = Hash{1, 2, 3}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An item is an envelope with its body.
type item struct{ envelope, body []byte }

// A party is a client with its keys.
type party struct {
	*Client
	identity *identity.Identity
	opener   *seal.Key
	dealt    item // last deal
	said     item // the last confirmation or share
}

// A world has a coordinator and its clients in one process.
type world struct {
	t           testing.TB
	federation  *Federation
	hub         *identity.Identity
	chain       transcript.Chain
	coordinator *Coordinator
	clients     []*party     // index p − 1 has the client at place p
	keys        map[int]item // by place
	deals       map[int]item // deals for the open plan, by place
	entries     []item
}

func model(ask uint64) Hash { return Hash{byte(ask), 7} }

// newWorld returns a study whose transcript has begun. Its clients have not sent their keys yet
// (see exchange). All random values come from a seed.
func newWorld(t *testing.T, clients, fewest, length int) *world {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 1)
	return makeWorld(t, clients, fewest, length)
}

func makeWorld(t testing.TB, clients, fewest, length int) *world {
	t.Helper()
	w := &world{t: t, keys: map[int]item{}}
	var entries []roster.Entry
	enter := func(name string, role identity.Role, pin int) (*identity.Identity, *seal.Key) {
		i, err := identity.Generate()
		check(t, err)
		k, err := seal.Generate()
		check(t, err)
		e, err := roster.NewEntry(i, study, identity.Name(name), role, identity.Pin{byte(pin), byte(pin >> 8), 1}, k.Recipient())
		check(t, err)
		entries = append(entries, e)
		return i, k
	}
	w.hub, _ = enter("hub", identity.Coordinator, 0)
	for j := 1; j <= clients; j++ {
		i, k := enter(fmt.Sprintf("site-%04d", j), identity.Client, j)
		w.clients = append(w.clients, &party{identity: i, opener: k})
	}
	members, err := roster.New(study, entries)
	check(t, err)
	w.chain = transcript.Begin(study, w.hub.Public())
	envelope, body, err := w.chain.Open(w.hub, members, Hash{9}, Hash{}, false, false)
	check(t, err)
	w.chain, _, err = w.chain.Follow(envelope, body)
	check(t, err)
	w.federation, err = New(w.chain, fewest, length)
	check(t, err)
	w.coordinator = NewCoordinator(w.federation)
	for place := 1; place <= clients; place++ {
		p := w.clients[place-1]
		p.Client, err = NewClient(w.federation, w.federation.Name(place))
		check(t, err)
	}
	return w
}

// exchange makes all clients send their encrypted keys to the coordinator, which keeps them in
// w.keys so that [world.learn] finds them.
func (w *world) exchange() *world {
	w.t.Helper()
	for place, p := range w.clients {
		var i item
		var err error
		i.envelope, i.body, err = p.Keys(p.identity)
		check(w.t, err)
		from, body, err := w.coordinator.AddKeys(i.envelope)
		check(w.t, err)
		if from != place+1 || body != transcript.BodyOf(i.body) {
			w.t.Fatalf("keys of place %d come from place %d", place+1, from)
		}
		w.keys[from] = i
	}
	return w
}

// publish signs the next entry and lets the coordinator and the clients process it.
func (w *world) publish(kind transcript.Kind, ask uint64, body []byte) {
	w.t.Helper()
	envelope, err := w.chain.Sign(w.hub, kind, ask, model(ask), body)
	check(w.t, err)
	chain, e, err := w.chain.Follow(envelope, body)
	check(w.t, err)
	w.chain = chain
	check(w.t, w.coordinator.Follow(e, body))
	for i, p := range w.clients {
		check(w.t, p.Follow(e, body))
		w.restart(i + 1)
	}
	w.entries = append(w.entries, item{envelope, body})
	if kind.Plan() {
		w.deals = map[int]item{}
	}
}

func (w *world) deal(place int, vector []int64) {
	w.t.Helper()
	p := w.clients[place-1]
	d, err := p.Deal(vector)
	check(w.t, err)
	p.dealt.envelope, p.dealt.body, err = d.Sign(p.identity, uint64(place), Hash{byte(place)})
	check(w.t, err)
	r, err := w.coordinator.CheckDeal(p.dealt.envelope)
	check(w.t, err)
	if r.Body != transcript.BodyOf(p.dealt.body) || r.Place != place || r.Header.LedgerSeq != uint64(place) {
		w.t.Fatalf("the deal of place %d is received as %+v", place, r)
	}
	check(w.t, w.coordinator.AddDeal(r))
	w.deals[place] = p.dealt
	w.restart(place)
}

func (w *world) restart(place int) {
	w.t.Helper()
	p := w.clients[place-1]
	state, err := p.MarshalBinary()
	check(w.t, err)
	p.Client, err = RestoreClient(w.federation, w.federation.Name(place), state)
	check(w.t, err)
	again, err := p.MarshalBinary()
	check(w.t, err)
	if !bytes.Equal(state, again) {
		w.t.Fatal("a restored client has another state")
	}
}

// pieces returns a holder's parts of all deals in the cut, in order.
func (w *world) pieces(holder int) (all []byte) {
	for _, d := range w.coordinator.Cut() {
		at, size := w.federation.Column(d.Place, holder)
		all = append(all, w.deals[d.Place].body[at:at+size]...)
	}
	return all
}

// learn gives a client the keys that the given dealers have drawn for it. It skips the client
// itself.
func (w *world) learn(place int, dealers ...int) {
	w.t.Helper()
	for _, dealer := range dealers {
		if dealer != place {
			at, size := w.federation.Keys(dealer, place)
			check(w.t, w.clients[place-1].Learn(w.clients[place-1].opener, dealer, w.keys[dealer].body[at:at+size]))
		}
	}
}

func (w *world) gather(place int) {
	w.t.Helper()
	w.learn(place, w.clients[place-1].Unknown()...)
	check(w.t, w.clients[place-1].Gather(w.pieces(place)))
	w.restart(place)
}

func (w *world) confirm(places ...int) {
	w.t.Helper()
	for _, place := range places {
		p := w.clients[place-1]
		w.gather(place)
		var err error
		p.said.envelope, err = p.Confirm(p.identity)
		check(w.t, err)
		w.restart(place)
		if from, err := w.coordinator.AddConfirmation(p.said.envelope); from != place || err != nil && !errors.Is(err, ErrLate) {
			w.t.Fatalf("the confirmation of place %d comes from %d: %v", place, from, err)
		}
	}
}

func (w *world) share(places ...int) {
	w.t.Helper()
	for _, place := range places {
		p := w.clients[place-1]
		if p.Wants() {
			w.gather(place)
		}
		var err error
		p.said.envelope, p.said.body, err = p.Share(p.identity)
		check(w.t, err)
		w.restart(place)
		if from, err := w.coordinator.AddShare(p.said.envelope, p.said.body); from != place || err != nil {
			w.t.Fatalf("the share of place %d comes from %d: %v", place, from, err)
		}
	}
}

func (w *world) cut(ask uint64) {
	w.t.Helper()
	body, ok := w.coordinator.NextCut()
	if !ok {
		w.t.Fatal("no cut")
	}
	w.publish(transcript.Cut, ask, body)
}

func (w *world) certify(ask uint64) {
	w.t.Helper()
	body, ok := w.coordinator.NextCertificate()
	if !ok {
		w.t.Fatal("no certificate")
	}
	w.publish(transcript.Certificate, ask, body)
}

func (w *world) open(ask uint64) {
	w.t.Helper()
	body, ok, err := w.coordinator.NextOpening()
	check(w.t, err)
	if !ok {
		w.t.Fatal("no opening")
	}
	if len(body) != w.federation.OpeningSize() {
		w.t.Fatalf("an opening has %d bytes instead of %d", len(body), w.federation.OpeningSize())
	}
	w.publish(transcript.Opening, ask, body)
}
