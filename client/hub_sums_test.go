package client_test

import (
	"context"
	"errors"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/session"
	"fedpvi/transport"
)

// hubSums is the part of a hub that handles secure sums.
type hubSums struct {
	*sums.Coordinator
	federation *sums.Federation
	keys       map[int]transport.Item // by place
	deals      map[int][]byte         // bodies of the deals for the open plan, keyed by the dealer's place
	said       map[string][]byte      // keys, confirmations and shares that have arrived, keyed by sender, kind and plan (see the method same)
	complaints []int                  // places of dealers whose deals some clients could not read
	// spoil, unless nil, changes the parts of deals that the hub sends to a client.
	spoil func(name identity.Name, pieces []byte)
	// absent lists the clients whose messages for the open plan never arrive.
	absent []identity.Name
}

func (h *hub) beginSums() {
	h.t.Helper()
	members, err := phase.NewRoster(h.study, h.clients())
	check(h.t, err)
	f, err := sums.New(h.chain, members.Fewest, h.server.VectorSize())
	check(h.t, err)
	h.sums = &hubSums{Coordinator: sums.NewCoordinator(f), federation: f, keys: map[int]transport.Item{}, deals: map[int][]byte{}, said: map[string][]byte{}}
}

func (h *hub) submitSums(domain identity.Domain, item transport.Item) error {
	h.t.Helper()
	if domain == signed.Keys {
		place, body, err := h.sums.AddKeys(item.Envelope)
		check(h.t, err)
		if body != transcript.BodyOf(item.Body) {
			h.t.Fatal("the keys are not the signed ones")
		}
		h.same("keys", place, 0, item)
		h.sums.keys[place] = item
		if plans, _ := h.server.Plans(); plans == 0 && h.sums.Keyed() == h.sums.federation.Clients() {
			h.ask()
		}
		return nil
	}
	claims, err := signed.Claims(item.Envelope)
	check(h.t, err)
	place, err := h.sums.AddShare(item.Envelope, item.Body)
	if err != nil {
		return tooLate(err)
	}
	h.same("share", place, claims.Round, item)
	body, ok, err := h.sums.NextOpening()
	check(h.t, err)
	if ok {
		h.openSum(body)
	}
	return nil
}

// tooLate converts the error for a message whose step was already over.
func tooLate(err error) error {
	if errors.Is(err, sums.ErrLate) || errors.Is(err, signed.ErrRound) {
		return &transport.Refusal{Reason: transport.OutOfPlace, Text: "too late"}
	}
	return err
}

func (h *hub) same(kind string, place int, ask uint64, item transport.Item) {
	h.t.Helper()
	key := string(h.sums.federation.Name(place)) + kind + string(rune(ask))
	b := append(slices.Clone(item.Envelope), item.Body...)
	if before, ok := h.sums.said[key]; ok && !slices.Equal(before, b) {
		h.t.Errorf("client %d says two %ss for plan %d", place, kind, ask)
	}
	h.sums.said[key] = b
}

// deal accepts a deal. If it was the last one missing, deal publishes the cut.
func (h *hub) deal(key releaseKey, item transport.Item) error {
	h.t.Helper()
	r, err := h.sums.CheckDeal(item.Envelope)
	if errors.Is(err, sums.ErrLate) {
		return tooLate(err)
	}
	check(h.t, err)
	if r.Body != transcript.BodyOf(item.Body) {
		h.t.Fatal("the body is not the signed one")
	}
	check(h.t, h.sums.AddDeal(r))
	h.sums.deals[r.Place] = item.Body
	h.releases[key], h.last[key.client] = item, item.Envelope
	h.receipts = append(h.receipts, transcript.ReceiptOf(key.client, r.Header, r.Hash))
	slices.SortFunc(h.receipts, compareReceipts)
	if len(h.sums.Missing()) == 0 {
		h.cut()
	}
	return nil
}

func (h *hub) cut() {
	h.t.Helper()
	body, ok := h.sums.NextCut()
	if !ok {
		h.t.Fatal("too few deals for a cut")
	}
	h.sayStep(transcript.Cut, body)
}

func (h *hub) sayStep(kind transcript.Kind, body []byte) {
	h.t.Helper()
	ask := int(h.sums.Ask())
	model, _ := h.server.ModelOf(ask)
	h.say(kind, ask, model, body)
}

// openSum publishes the opening and the outcome, and then the next plan.
func (h *hub) openSum(body []byte) {
	h.t.Helper()
	h.sayStep(transcript.Opening, body)
	names, elements, ok := h.sums.Sum()
	if !ok {
		h.t.Fatal("no sum after an opening")
	}
	sum := session.Sum{Elements: slices.Clone(elements), Participants: ids(names)}
	if h.falsify != nil {
		h.falsify(sum.Elements)
	}
	outcome, err := h.server.CollectSum(int(h.sums.Ask()), sum)
	check(h.t, err)
	h.sayEntry(*outcome)
	h.ask()
}

func (l line) PairKeys(_ context.Context, dealers []int, _ int64) (all []byte, err error) {
	for _, dealer := range dealers {
		at, size := l.sums.federation.Keys(dealer, l.place())
		all = append(all, l.sums.keys[dealer].Body[at:at+size]...)
	}
	return all, nil
}

func (l line) place() int { return l.sums.federation.Place(l.name) }

func (l line) Columns(_ context.Context, ask uint64, _ int64) (all []byte, err error) {
	if ask != l.sums.Ask() || slices.Contains(l.sums.absent, l.name) {
		return nil, &transport.Refusal{Reason: transport.OutOfPlace, Text: "too late"}
	}
	for _, d := range l.sums.Cut() {
		at, size := l.sums.federation.Column(d.Place, l.place())
		all = append(all, l.sums.deals[d.Place][at:at+size]...)
	}
	if l.sums.spoil != nil {
		l.sums.spoil(l.name, all)
	}
	return all, nil
}

func (l line) Confirm(_ context.Context, envelope []byte) error {
	place, err := l.sums.AddConfirmation(envelope)
	if err != nil {
		return tooLate(err)
	}
	l.same("confirmation", place, l.sums.Ask(), transport.Item{Envelope: envelope})
	if body, ok := l.sums.NextCertificate(); ok {
		l.sayStep(transcript.Certificate, body)
	}
	return nil
}

func (l line) Complain(_ context.Context, ask uint64, dealer int) error {
	l.sums.complaints = append(l.sums.complaints, dealer)
	if l.sums.Ask() != ask || l.sums.Step() != sums.Confirming {
		return &transport.Refusal{Reason: transport.OutOfPlace, Text: "too late"}
	}
	return nil
}
