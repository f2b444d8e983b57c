package sums

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// entry signs the next entry but does not publish it.
func (w *world) entry(kind transcript.Kind, ask uint64, body []byte) (transcript.Entry, []byte) {
	w.t.Helper()
	envelope, err := w.chain.Sign(w.hub, kind, ask, model(ask), body)
	check(w.t, err)
	_, e, err := w.chain.Follow(envelope, body)
	check(w.t, err)
	return e, body
}

func (w *world) copyOf(place int) *Client {
	w.t.Helper()
	state, err := w.clients[place-1].MarshalBinary()
	check(w.t, err)
	c, err := RestoreClient(w.federation, w.federation.Name(place), state)
	check(w.t, err)
	return c
}

// unchanged fails the test if the state of c differs from that of the client at the same place in
// w.
func (w *world) unchanged(c *Client, what string) {
	w.t.Helper()
	want, err := w.clients[c.place-1].MarshalBinary()
	check(w.t, err)
	if got, err := c.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		w.t.Errorf("%s changed the state", what)
	}
}

// eachBit calls f with all copies of b in which one bit is flipped.
func eachBit(b []byte, f func(changed []byte)) {
	for bit := range 8 * len(b) {
		changed := bytes.Clone(b)
		changed[bit/8] ^= 1 << (bit % 8)
		f(changed)
	}
}

// four returns a study of four clients that have made their deals for the first plan. It takes
// three of them to open a sum.
func four(t *testing.T) *world {
	w := newWorld(t, 4, 3, 5).exchange()
	w.publish("plan", 1, nil)
	for place := range 4 {
		w.deal(place+1, []int64{int64(place), -7, 1 << 40})
	}
	return w
}

//abuse:case P16 every bit that a client reads before it confirms a cut counts
func TestEveryBitOfDealsAndCutsCounts(t *testing.T) {
	w := four(t)
	deals := map[int][]byte{}
	for place, i := range w.deals {
		deals[place] = i.body
		w.learn(2, place)
	}
	body, ok := w.coordinator.NextCut()
	if !ok {
		t.Fatal("no cut")
	}
	eachBit(body, func(changed []byte) {
		c := w.copyOf(2)
		err := c.Follow(w.entry(transcript.Cut, 1, changed))
		if err != nil {
			w.unchanged(c, "a refused cut")
			return
		}
		if err := c.Gather(piecesOf(w.federation, c.Cut(), deals, 2)); err == nil {
			t.Fatalf("the columns of a changed cut were added up: %x", changed)
		}
		if _, err := c.Confirm(w.clients[1].identity); err == nil {
			t.Fatal("a changed cut was confirmed")
		}
	})
	w.cut(1)
	for holder := 1; holder <= 4; holder++ {
		w.learn(holder, w.clients[holder-1].Unknown()...)
		good := w.pieces(holder)
		eachBit(good, func(changed []byte) {
			c := w.copyOf(holder)
			var unopened *Unopened
			if err := c.Gather(changed); !errors.As(err, &unopened) {
				t.Fatalf("changed columns: %v", err)
			}
			w.unchanged(c, "a changed column")
		})
		for _, pieces := range [][]byte{nil, good[1:], append(bytes.Clone(good), 0)} {
			if err := w.copyOf(holder).Gather(pieces); err == nil {
				t.Error("columns of another length were added up")
			}
		}
	}
}

//abuse:case P16 every bit of a certificate and of an opening counts
func TestEveryBitOfCertificatesAndOpeningsCounts(t *testing.T) {
	w := four(t)
	w.cut(1)
	w.confirm(1, 2, 3, 4)
	refused := func(kind transcript.Kind, body []byte) {
		for _, changed := range [][]byte{nil, body[:1], body[1:], append(bytes.Clone(body), 0)} {
			c := w.copyOf(1)
			if err := c.Follow(w.entry(kind, 1, changed)); err == nil {
				t.Errorf("a %s of %d bytes was followed", kind, len(changed))
			}
		}
		eachBit(body, func(changed []byte) {
			c := w.copyOf(1)
			if err := c.Follow(w.entry(kind, 1, changed)); err == nil {
				t.Fatalf("a changed %s was followed: %x", kind, changed)
			}
			w.unchanged(c, "a refused entry")
		})
	}
	certificate, _ := w.coordinator.NextCertificate()
	refused(transcript.Certificate, certificate)
	w.certify(1)
	w.share(1, 2, 3, 4)
	opening, _, err := w.coordinator.NextOpening()
	check(t, err)
	refused(transcript.Opening, opening)
}

// signatures returns the body of a certificate that has confirmations from the clients at the given
// places.
func (w *world) signatures(cut Hash, places ...int) []byte {
	body := []byte{version}
	for _, place := range places {
		envelope, err := signed.Sign(w.clients[place-1].identity, w.coordinator.header(signed.Confirm), confirmPayload(cut))
		check(w.t, err)
		m, err := signed.Verify(envelope, w.federation.key(place), w.coordinator.header(signed.Confirm))
		check(w.t, err)
		body = signature{place, m.Signature}.append(body)
	}
	return body
}

//abuse:case P16 a certificate needs confirmations of U_min different clients of one cut
func TestCertificatesThatAreNone(t *testing.T) {
	w := four(t)
	w.cut(1)
	cut := w.coordinator.cutHash
	check(t, w.copyOf(1).Follow(w.entry(transcript.Certificate, 1, w.signatures(cut, 1, 2, 4))))
	for name, body := range map[string][]byte{
		"nobody":                    w.signatures(cut),
		"one client fewer":          w.signatures(cut, 1, 2),
		"one client more":           w.signatures(cut, 1, 2, 3, 4),
		"one client twice":          w.signatures(cut, 1, 2, 2),
		"not in order":              w.signatures(cut, 2, 1, 3),
		"another cut":               w.signatures(Hash{1}, 1, 2, 3),
		"a signature under another": append(w.signatures(cut, 1, 2), signature{3, [64]byte(w.signatures(cut, 4)[3:])}.append(nil)...),
	} {
		c := w.copyOf(1)
		var refused *Refused
		if err := c.Follow(w.entry(transcript.Certificate, 1, body)); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		w.unchanged(c, name)
	}
}

//abuse:case P16 a cut names at least U_min different deals in order
func TestCutsThatAreNone(t *testing.T) {
	w := four(t)
	for name, places := range map[string][]int{
		"nobody": nil, "one deal": {1}, "one deal fewer": {1, 2}, "one deal twice": {1, 1, 2}, "not in order": {2, 1, 3},
		"a place beyond the last": {1, 2, 5}, "no place": {0, 1, 2}, "more deals than clients": {1, 2, 3, 4, 5},
	} {
		var cut []Dealt
		for _, place := range places {
			cut = append(cut, Dealt{place, w.coordinator.deals[min(max(place, 1), 4)]})
		}
		c := w.copyOf(1)
		var refused *Refused
		if err := c.Follow(w.entry(transcript.Cut, 1, cutBytes(cut))); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		w.unchanged(c, name)
	}
}

//abuse:case P16 entries of a sum come in one order
func TestEntriesOutOfPlace(t *testing.T) {
	w := newWorld(t, 3, 3, 1).exchange()
	bodies := map[transcript.Kind][]byte{"plan": nil, "outcome": nil}
	kinds := []transcript.Kind{"plan", transcript.Cut, transcript.Certificate, transcript.Opening, "outcome"}
	try := func(allowed ...transcript.Kind) {
		for _, kind := range kinds {
			for _, ask := range []uint64{1, 2} {
				c := w.copyOf(1)
				err := c.Follow(w.entry(kind, ask, bodies[kind]))
				if good := slices.Contains(allowed, kind) && (ask == 1 || kind == "plan"); good != (err == nil) {
					t.Errorf("in step %d, %s of plan %d: %v", w.coordinator.Step(), kind, ask, err)
				}
				if err != nil {
					w.unchanged(c, string(kind))
				}
			}
		}
	}
	try("plan")
	w.publish("plan", 1, nil)
	for place := 1; place <= 3; place++ {
		w.deal(place, []int64{1})
	}
	bodies[transcript.Cut], _ = w.coordinator.NextCut()
	try(transcript.Cut, "outcome")
	w.cut(1)
	w.confirm(1, 2, 3)
	bodies[transcript.Certificate], _ = w.coordinator.NextCertificate()
	try(transcript.Certificate, "outcome")
	w.certify(1)
	w.share(1, 2, 3)
	bodies[transcript.Opening], _, _ = w.coordinator.NextOpening()
	try(transcript.Opening, "outcome")
	w.open(1)
	try("outcome")
	w.publish("outcome", 1, nil)
	try("plan")
}

//abuse:case P16 a client deals, confirms and shares once for a plan, and not before its time
func TestClientsSayEachThingOnce(t *testing.T) {
	w := newWorld(t, 4, 3, 2)
	p := w.clients[0]
	try := func(what string, err error) {
		t.Helper()
		var refused *Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", what, err)
		}
		w.unchanged(w.copyOf(1), what)
	}
	deal := func() error { _, err := p.Deal([]int64{1}); return err }
	gather := func() error { return p.Gather(w.pieces(1)) }
	confirm := func() error { _, err := p.Confirm(p.identity); return err }
	share := func() error { _, _, err := p.Share(p.identity); return err }

	try("deal before a plan", deal())
	w.publish("plan", 1, nil)
	try("deal before keys", deal())
	w.publish("outcome", 1, nil)
	w.exchange()
	_, _, err := p.Keys(p.identity)
	try("keys again", err)
	w.publish("plan", 2, nil)
	_, err = p.Deal([]int64{1, 2, 3})
	try("a long vector", err)
	for _, v := range []int64{MaxElement + 1, -MaxElement - 1, -1 << 63} {
		_, err = p.Deal([]int64{v})
		try("a large element", err)
	}
	for place := 1; place <= 3; place++ {
		w.deal(place, []int64{MaxElement / 4, -MaxElement / 4})
	}
	try("deal again", deal())
	try("confirm before the cut", confirm())
	try("gather before the cut", gather())
	w.cut(2)
	try("deal after the cut", deal())
	try("confirm without columns", confirm())
	try("share without a certificate", share())
	w.confirm(1)
	try("confirm again", confirm())
	try("gather again", gather())
	try("share before the certificate", share())
	w.confirm(2, 4)
	w.certify(2)
	try("confirm after the certificate", confirm())
	w.share(1)
	try("share again", share())
	try("gather after the share", gather())
	w.share(3, 4)
	w.open(2)
	try("share after the opening", share())
	w.publish("outcome", 2, nil)
}

// All these columns are from the same clients and use the same keys, but belong to other deals.
//
//abuse:case P16 columns of another plan, deal or history are not added up
func TestColumnsOfOtherDealsDoNotOpen(t *testing.T) {
	w := four(t)
	old := map[int]item{}
	for place := range w.deals {
		old[place] = w.deals[place]
	}
	w.publish("outcome", 1, nil)
	fork := w.copyOf(1)
	w.publish("plan", 2, nil)
	other := w.copyOf(2) // the second client before its deal
	for place := 1; place <= 4; place++ {
		w.deal(place, []int64{1})
	}
	// The second client deals again, as if its directory had been restored from a backup.
	again, err := other.Deal([]int64{1})
	check(t, err)
	// The first client has seen another plan with the same number.
	envelope, err := w.chain.Sign(w.hub, "outcome", 2, model(2), nil)
	check(t, err)
	check(t, fork.Follow(transcript.Entry{Kind: "plan", Ask: 2, Model: model(2), Hash: transcript.BodyOf(envelope).Hash}, nil))
	forked, err := fork.Deal([]int64{1})
	check(t, err)
	signedDeal, _, err := forked.Sign(w.clients[0].identity, 0, Hash{})
	check(t, err)
	if _, err := w.coordinator.CheckDeal(signedDeal); err == nil {
		t.Error("a deal for another history was received")
	}
	// The coordinator puts the deal for that other history into the cut.
	cut := []Dealt{{1, fork.salt}, {2, w.coordinator.deals[2]}, {3, w.coordinator.deals[3]}}
	deals := map[int][]byte{1: forked.body, 2: w.deals[2].body, 3: w.deals[3].body}
	w.learn(4, 1, 2, 3)
	victim := w.copyOf(4)
	check(t, victim.Follow(w.entry(transcript.Cut, 2, cutBytes(cut))))
	var unopened *Unopened
	if err := victim.Gather(piecesOf(w.federation, cut, deals, 4)); !errors.As(err, &unopened) {
		t.Errorf("a deal for another history in the cut: %v", err)
	}
	w.cut(2)
	for name, deals := range map[string]map[int]item{
		"another plan":         {1: old[1]},
		"another deal":         {2: {body: again.body}},
		"another history":      {1: {body: forked.body}},
		"another dealer":       {1: w.deals[2]},
		"a deal without bytes": {1: {body: make([]byte, w.federation.DealSize())}},
	} {
		good := w.deals
		w.deals = map[int]item{1: good[1], 2: good[2], 3: good[3], 4: good[4]}
		for place, i := range deals {
			w.deals[place] = i
		}
		w.learn(4, w.clients[3].Unknown()...)
		if err := w.copyOf(4).Gather(w.pieces(4)); !errors.As(err, &unopened) {
			t.Errorf("%s: %v", name, err)
		}
		w.deals = good
	}
	// A client must not confirm a cut that has a deal under its name which it has not made.
	e, body := w.entries[len(w.entries)-1].entry(t), w.entries[len(w.entries)-1].body
	check(t, other.Follow(e, body))
	for _, dealer := range other.Unknown() {
		at, size := w.federation.Keys(dealer, 2)
		check(t, other.Learn(w.clients[1].opener, dealer, w.keys[dealer].body[at:at+size]))
	}
	var refused *Refused
	if err := other.Gather(w.pieces(2)); !errors.As(err, &refused) {
		t.Errorf("a cut with another deal of the client: %v", err)
	}
}

// entry returns the entry in an envelope, in the form in which a chain would return it.
func (i item) entry(t testing.TB) transcript.Entry {
	e, err := transcript.Claims(i.envelope)
	check(t, err)
	h, err := signed.Claims(i.envelope)
	check(t, err)
	e.Ask, e.Model, e.Hash = h.Round, h.Model, transcript.BodyOf(i.envelope).Hash
	return e
}

//abuse:case P16 keys that were changed, or made for others, are refused
func TestKeysOfOthersAreRefused(t *testing.T) {
	w := newWorld(t, 4, 3, 1).exchange()
	piece := func(dealer, holder int) []byte {
		at, size := w.federation.Keys(dealer, holder)
		return bytes.Clone(w.keys[dealer].body[at : at+size])
	}
	c := w.copyOf(1)
	opener := w.clients[0].opener
	for name, err := range map[string]error{
		"for another holder":  c.Learn(opener, 2, piece(2, 3)),
		"of another dealer":   c.Learn(opener, 2, piece(3, 1)),
		"with another key":    c.Learn(w.clients[1].opener, 2, piece(2, 1)),
		"of no client":        c.Learn(opener, 5, piece(2, 1)),
		"of place 0":          c.Learn(opener, 0, piece(2, 1)),
		"of the client":       c.Learn(opener, 1, piece(2, 1)),
		"cut":                 c.Learn(opener, 2, piece(2, 1)[1:]),
		"empty":               c.Learn(opener, 2, nil),
		"with a changed byte": c.Learn(opener, 2, append(piece(2, 1)[:SealedKeySize-1], 0)),
	} {
		if err == nil {
			t.Errorf("a key %s was learned", name)
		}
		w.unchanged(c, name)
	}
	check(t, c.Learn(opener, 2, piece(2, 1)))
	check(t, c.Learn(opener, 2, piece(2, 1)))
	sealed, err := w.federation.sealKey(w.clients[1].identity, 2, 1, key{1})
	check(t, err)
	if err := c.Learn(opener, 2, sealed); err == nil {
		t.Error("a second key of one dealer was learned")
	}
	// If anyone but the dealer seals a key, the dealer's signature is missing.
	forged, err := w.federation.sealKey(w.clients[2].identity, 4, 1, key{1})
	check(t, err)
	if err := c.Learn(opener, 4, forged); err == nil {
		t.Error("a key that another client has signed was learned")
	}
}

//abuse:case P16 a coordinator refuses messages of strangers to the study, and messages for another step
func TestCoordinatorRefuses(t *testing.T) {
	w := four(t)
	stranger := makeWorld(t, 4, 3, 5).exchange()
	stranger.publish("plan", 1, nil)
	stranger.deal(1, nil)
	c := w.coordinator
	if _, err := c.CheckDeal(stranger.clients[0].dealt.envelope); err == nil {
		t.Error("a deal of another study was received")
	}
	if _, _, err := c.AddKeys(stranger.keys[1].envelope); err == nil {
		t.Error("keys of another study were received")
	}
	again, err := w.copyOf(1), error(nil)
	again.dealt = false
	d, err := again.Deal(nil)
	check(t, err)
	envelope, _, err := d.Sign(w.clients[0].identity, 1, Hash{})
	check(t, err)
	if _, err := c.CheckDeal(envelope); err == nil {
		t.Error("a second deal was received")
	}
	first, err := c.CheckDeal(w.clients[1].dealt.envelope)
	if err != nil {
		t.Errorf("the same deal again: %v", err)
	}
	for _, envelope := range [][]byte{nil, w.keys[1].envelope, w.entries[0].envelope} {
		if _, err := c.AddConfirmation(envelope); err == nil {
			t.Error("a confirmation was received that is none")
		}
		if _, err := c.AddShare(envelope, nil); err == nil {
			t.Error("a share was received that is none")
		}
	}
	w.cut(1)
	if _, err := c.CheckDeal(w.clients[1].dealt.envelope); !errors.Is(err, ErrLate) {
		t.Errorf("a late deal: %v", err)
	}
	if err := c.AddDeal(first); !errors.Is(err, ErrLate) {
		t.Errorf("a late deal: %v", err)
	}
	w.confirm(1, 2, 3, 4)
	if c.Missing() != nil {
		t.Errorf("missing: %v", c.Missing())
	}
	w.certify(1)
	if _, err := c.AddConfirmation(w.clients[3].said.envelope); !errors.Is(err, ErrLate) {
		t.Errorf("a late confirmation: %v", err)
	}
	w.share(1)
	said := w.clients[0].said
	eachBit(said.body, func(changed []byte) {
		if _, err := c.AddShare(said.envelope, changed); err == nil {
			t.Fatal("a share with other words was received")
		}
	})
	if _, ok, err := c.NextOpening(); ok || err != nil {
		t.Error("one share opens a sum")
	}
	if got := c.Missing(); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("missing: %v", got)
	}
	// If there are more shares than a sum needs, a false share must be detected.
	w.clients[2].gathered[0] ^= 1
	w.share(2)
	w.clients[2].said.envelope, w.clients[2].said.body, err = w.clients[2].Share(w.clients[2].identity)
	check(t, err)
	_, err = c.AddShare(w.clients[2].said.envelope, w.clients[2].said.body)
	check(t, err)
	w.share(4)
	if _, _, err := c.NextOpening(); !errors.Is(err, ErrDisagree) {
		t.Errorf("shares of two sums: %v", err)
	}
}

func TestRulesThatCannotBeSecure(t *testing.T) {
	w := newWorld(t, 4, 3, 1)
	for _, c := range []struct{ fewest, length int }{{2, 1}, {5, 1}, {3, 0}, {3, 1 << 30}} {
		if _, err := New(w.chain, c.fewest, c.length); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	if _, err := NewClient(w.federation, "nobody"); err == nil {
		t.Error("a client that is not in the roster was made")
	}
}
