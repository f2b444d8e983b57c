package coordinator

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/dpmech/seeded"
	"fedpvi/transport"
)

func reasonOf(t *testing.T, err error) transport.Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var r *transport.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not a refusal: %v", err)
	}
	return r.Reason
}

// content returns all values in the store's database, keyed by path.
func (h *house) content() map[string]string {
	h.t.Helper()
	out := map[string]string{}
	check(h.t, h.hub.store.View(func(tx *store.Tx) error {
		return tx.Dump(func(path string, value []byte) { out[path] = string(value) })
	}))
	return out
}

// A stand is a study whose first plan is open. good is a valid answer by the client north, which
// has not been sent.
type stand struct {
	*house
	north, south *party
	ask          int
	release      []byte
	good         transport.Item
}

func newStand(t *testing.T) *stand {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 2", ""), "north", "south")
	follow(t, parties...)
	s := &stand{house: h, north: parties[0], south: parties[1]}
	ask, ok := s.north.site.Pending()
	if !ok {
		t.Fatal("north has no pending plan")
	}
	a, err := s.north.site.Answer(seeded.Stream(1, "client", 0, uint64(ask)))
	check(t, err)
	s.ask, s.release = ask, a.Release
	s.north.ledger++
	s.good, err = s.north.sealed(ask, s.north.models[ask], a.Release, nil)
	check(t, err)
	return s
}

// with returns north's answer with a header that change has modified.
func (s *stand) with(change func(h *signed.Header)) transport.Item {
	s.t.Helper()
	i, err := s.north.sealed(s.ask, s.north.models[s.ask], s.release, change)
	check(s.t, err)
	return i
}

// resealed returns an answer by north with a valid header and a payload that is encrypted for to.
// The function context computes the encryption context from the header.
func (s *stand) resealed(to seal.Recipient, context func(h signed.Header) []byte, payload []byte) transport.Item {
	s.t.Helper()
	body, err := seal.Seal(to, context(s.header()), payload, s.north.site.MaxRelease())
	check(s.t, err)
	return s.signed(body)
}

func (s *stand) header() signed.Header {
	return s.north.chain.ReleaseHeader(uint64(s.ask), s.north.models[s.ask], s.north.identity.Fingerprint(), 1, Hash{1})
}

func (s *stand) signed(body []byte) transport.Item {
	s.t.Helper()
	envelope, err := transcript.SignRelease(s.north.identity, s.header(), body, Hash{})
	check(s.t, err)
	return transport.Item{Envelope: envelope, Body: body}
}

func here(h signed.Header) []byte { return h.Bytes() }

// The coordinator must refuse each invalid answer with a reason, and store at most its envelope, as
// evidence.
//
//abuse:case A10 another study, round, model, roster, protocol or purpose: refused, state unchanged
//abuse:case A20 garbage that is validly signed and sealed is refused; the client may then send a valid answer
//abuse:case P08 an answer that is not sealed is refused by the coordinator
//abuse:case A25 an answer to a round that is not open is refused
func TestHostileReleases(t *testing.T) {
	with := func(change func(h *signed.Header)) func(*stand) transport.Item {
		return func(s *stand) transport.Item { return s.with(change) }
	}
	for name, tc := range map[string]struct {
		send   func(s *stand) transport.Item
		reason transport.Reason
	}{
		"the good one":        {func(s *stand) transport.Item { return s.good }, ""},
		"of another client":   {func(s *stand) transport.Item { return s.good }, transport.Denied},
		"bytes":               {func(s *stand) transport.Item { return transport.Item{Envelope: []byte("hello")} }, transport.Malformed},
		"nothing":             {func(s *stand) transport.Item { return transport.Item{} }, transport.Malformed},
		"an approval":         {approvalAsRelease, transport.OutOfPlace},
		"a round to come":     {with(func(h *signed.Header) { h.Round++ }), transport.OutOfPlace},
		"round 0":             {with(func(h *signed.Header) { h.Round = 0 }), transport.OutOfPlace},
		"a round far away":    {with(func(h *signed.Header) { h.Round = 1 << 63 }), transport.OutOfPlace},
		"another model":       {with(func(h *signed.Header) { h.Model[0]++ }), transport.Malformed},
		"another study":       {with(func(h *signed.Header) { h.Study[0]++ }), transport.Malformed},
		"another protocol":    {with(func(h *signed.Header) { h.Protocol[0]++ }), transport.Malformed},
		"another roster":      {with(func(h *signed.Header) { h.Roster[0]++ }), transport.Malformed},
		"another domain":      {with(func(h *signed.Header) { h.Domain = signed.Head }), transport.Malformed},
		"an older ledger":     {with(func(h *signed.Header) { h.LedgerSeq = 0 }), transport.OutOfPlace},
		"too small":           {func(s *stand) transport.Item { return s.sized(-1) }, transport.TooLarge},
		"too large":           {func(s *stand) transport.Item { return s.sized(1) }, transport.TooLarge},
		"not sealed":          {(*stand).plainly, transport.Malformed},
		"sealed for another":  {func(s *stand) transport.Item { return s.resealed(recipient(s), here, s.release) }, transport.Malformed},
		"sealed elsewhere":    {func(s *stand) transport.Item { return s.resealed(s.north.hub.Recipient, elsewhere, s.release) }, transport.Malformed},
		"garbage in the seal": {func(s *stand) transport.Item { return s.resealed(s.north.hub.Recipient, here, []byte("garbage")) }, transport.Malformed},
		"nothing in the seal": {func(s *stand) transport.Item { return s.resealed(s.north.hub.Recipient, here, nil) }, transport.Malformed},
		"a byte more in it": {func(s *stand) transport.Item {
			return s.resealed(s.north.hub.Recipient, here, s.release[:len(s.release)-1])
		}, transport.Malformed},
		"another's answer": {foreignAnswer, transport.Malformed},
		"a body of other bytes": {func(s *stand) transport.Item {
			body := bytes.Clone(s.good.Body)
			body[len(body)-1] ^= 1
			return transport.Item{Envelope: s.good.Envelope, Body: body}
		}, transport.Malformed},
		"a body sealed again": {func(s *stand) transport.Item {
			again := s.with(func(*signed.Header) {})
			return transport.Item{Envelope: s.good.Envelope, Body: again.Body}
		}, transport.Malformed},
		"a signature that is wrong": {func(s *stand) transport.Item {
			e := bytes.Clone(s.good.Envelope)
			e[len(e)-1] ^= 1
			return transport.Item{Envelope: e, Body: s.good.Body}
		}, transport.Malformed},
	} {
		for _, piece := range []int{1 << 20, 1000} {
			s := newStand(t)
			from, item := s.north, tc.send(s)
			if name == "of another client" {
				from = s.south
			}
			before, status := s.content(), s.mustStatus()
			err := from.submit(t.Context(), item, piece)
			if got := reasonOf(t, err); got != tc.reason {
				t.Errorf("%s: %q (%v), want %q", name, got, err, tc.reason)
			}
			if tc.reason == "" {
				continue
			}
			after := s.content()
			for path := range after {
				if bytes.Contains([]byte(path), []byte("/offers/")) {
					delete(after, path) // offers are kept even if the answer is refused later
				}
			}
			if !reflect.DeepEqual(before, after) {
				t.Errorf("%s: the store has changed", name)
			}
			if now := s.mustStatus(); !reflect.DeepEqual(now.Open[0].Waiting, status.Open[0].Waiting) {
				t.Errorf("%s: the round waits for %v", name, now.Open[0].Waiting)
			}
			// Other clients must still be able to answer.
			if from == s.north && piece > 1000 {
				check(t, s.south.stepAll(t.Context()))
			}
		}
	}
}

// The coordinator must refuse a release that does not match the hash in its answer, because
// otherwise all other clients would refuse the outcome.
//
//abuse:case A20 a release that differs from the hash beside it is refused; the client may then send the right one
func TestAnswerOfAnotherReleaseIsRefused(t *testing.T) {
	h, parties := begun(t, Options{}, signedText(1), two...)
	north := parties[0]
	right := north.prepare(t)
	claims, err := signed.Claims(right.Envelope)
	check(t, err)
	for name, commitment := range map[string]Hash{"another hash": {1}, "no hash": {}} {
		forged, err := transcript.SignRelease(north.identity, claims, right.Body, commitment)
		check(t, err)
		if got := reasonOf(t, north.submit(t.Context(), transport.Item{Envelope: forged, Body: right.Body}, 1<<20)); got != transport.Malformed {
			t.Errorf("%s: %q", name, got)
		}
	}
	if status := h.mustStatus(); status.Open[0].Answered != 0 {
		t.Errorf("%d answers", status.Open[0].Answered)
	}
}

func (p *party) stepAll(ctx context.Context) error {
	if err := p.follow(ctx); err != nil {
		return err
	}
	if full, err := p.answer(); err != nil || !full {
		return err
	}
	return p.submit(ctx, *p.outbox, 1<<20)
}

func (h *house) mustStatus() Status {
	h.t.Helper()
	s, err := h.study.Status(h.t.Context())
	check(h.t, err)
	return s
}

func approvalAsRelease(s *stand) transport.Item {
	e, err := transcript.SignApproval(s.north.identity, s.north.invited.Study, s.north.invited.Coordinator, 1, Hash{})
	check(s.t, err)
	return transport.Item{Envelope: e, Body: s.good.Body}
}

func foreignAnswer(s *stand) transport.Item {
	a, err := s.south.site.Answer(seeded.Stream(1, "client", 1, 1))
	check(s.t, err)
	return s.resealed(s.north.hub.Recipient, here, a.Release)
}

func recipient(s *stand) seal.Recipient {
	key, err := seal.Generate()
	check(s.t, err)
	return key.Recipient()
}

func elsewhere(h signed.Header) []byte {
	h.Round++
	return h.Bytes()
}

// sized returns an answer whose body is too long by the given number of bytes.
func (s *stand) sized(more int) transport.Item {
	return s.signed(make([]byte, len(s.good.Body)+more))
}

// plainly returns an answer with an unencrypted body of the right size.
func (s *stand) plainly() transport.Item {
	return s.signed(append(bytes.Clone(s.release), make([]byte, len(s.good.Body)-len(s.release))...))
}

//abuse:case A04 the same answer again is harmless; a different answer is refused, and kept as evidence
func TestSecondAnswerIsRefused(t *testing.T) {
	s := newStand(t)
	_, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
	check(t, err)
	first := s.with(func(h *signed.Header) { h.LedgerSeq = 3 })
	if _, err := s.study.Offer(t.Context(), s.north.peer, first.Envelope, nil); reasonOf(t, err) != transport.OutOfPlace {
		t.Errorf("another answer while the first is being sent: %v", err)
	}
	check(t, s.north.submit(t.Context(), s.good, 1000))
	taken := s.content()
	for range 2 {
		have, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
		if err != nil || have != int64(len(s.good.Body)) {
			t.Errorf("offered again: %d, %v", have, err)
		}
		check(t, s.study.Write(t.Context(), s.north.peer, transcript.BodyOf(s.good.Envelope).Hash, 0, s.good.Body))
	}
	if !reflect.DeepEqual(s.content(), taken) {
		t.Error("the store changed when the same answer was sent again")
	}
	second := s.with(func(h *signed.Header) { h.LedgerSeq = 2 })
	for range 2 {
		if got := reasonOf(t, s.north.submit(t.Context(), second, 1000)); got != transport.OutOfPlace {
			t.Errorf("a second answer: %q", got)
		}
	}
	if kept := evidence(t, s.house); len(kept) != 1 || !bytes.Equal(kept[store.ReleaseKey{Ask: 1, Client: "north"}], first.Envelope) {
		t.Errorf("%v is kept as evidence", kept)
	}
	// After the round, the same answer must get the same reply, and a different answer must be
	// refused.
	check(t, s.south.stepAll(t.Context()))
	have, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
	if err != nil || have != int64(len(s.good.Body)) {
		t.Errorf("offered after the round: %d, %v", have, err)
	}
	if got := reasonOf(t, s.north.submit(t.Context(), second, 1000)); got != transport.OutOfPlace {
		t.Errorf("a second answer after the round: %q", got)
	}
}

//abuse:case A12 pieces beyond the size, out of order or empty are refused
func TestPieces(t *testing.T) {
	s := newStand(t)
	hash := transcript.BodyOf(s.good.Envelope).Hash
	write := func(offset int64, piece []byte) transport.Reason {
		return reasonOf(t, s.study.Write(t.Context(), s.north.peer, hash, offset, piece))
	}
	if got := write(0, s.good.Body[:10]); got != transport.Unavailable {
		t.Errorf("before it was offered: %q", got)
	}
	_, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
	check(t, err)
	for _, tc := range []struct {
		offset int64
		piece  []byte
		want   transport.Reason
	}{
		{5, s.good.Body[5:10], transport.Unavailable},
		{0, nil, transport.OutOfPlace},
		{-1, s.good.Body[:1], transport.TooLarge},
		{0, make([]byte, len(s.good.Body)+1), transport.TooLarge},
		{0, make([]byte, maxPiece+1), transport.TooLarge},
		{1<<63 - 1, []byte{1}, transport.TooLarge},
		{0, s.good.Body[:minPiece-1], transport.Unavailable},
		{0, s.good.Body[:600], ""},
		{0, s.good.Body[:600], ""},
		{1300, s.good.Body[1300:1900], transport.Unavailable},
		{100, s.good.Body[100:601], transport.Unavailable},
		{100, s.good.Body[100:1200], ""},
		{600, s.good.Body[600:], ""},
		{600, s.good.Body[600:], ""},
	} {
		if got := write(tc.offset, tc.piece); got != tc.want {
			t.Errorf("%d bytes at %d: %q, want %q", len(tc.piece), tc.offset, got, tc.want)
		}
	}
	if w := s.mustStatus().Open[0].Waiting; len(w) != 1 || w[0] != "south" {
		t.Errorf("the round waits for %v", w)
	}
	if got := reasonOf(t, s.study.Write(t.Context(), s.south.peer, hash, 0, s.good.Body)); got != transport.Unavailable {
		t.Errorf("another client's release: %q", got)
	}
}

//abuse:case P02 denied to all but the clients of the study
//abuse:case P12 strangers, other studies and other roles get the same refusal
func TestMethodsAreForClientsOfTheStudy(t *testing.T) {
	s := newStand(t)
	methods := map[string]func(p channel.Party) error{
		"renew": func(p channel.Party) error {
			_, err := s.study.Renew(t.Context(), p, transport.RenewRequest{Request: s.north.request})
			return err
		},
		"standing": func(p channel.Party) error { _, err := s.study.Standing(t.Context(), p); return err },
		"approve":  func(p channel.Party) error { return s.study.Approve(t.Context(), p, s.good.Envelope) },
		"entry":    func(p channel.Party) error { _, err := s.study.Entry(t.Context(), p, 1); return err },
		"offer":    func(p channel.Party) error { _, err := s.study.Offer(t.Context(), p, s.good.Envelope, nil); return err },
		"write": func(p channel.Party) error {
			return s.study.Write(t.Context(), p, transcript.BodyOf(s.good.Envelope).Hash, 0, s.good.Body)
		},
	}
	north := s.north.peer
	another := north
	another.Study[0]++
	before := s.content()
	for name, peer := range map[string]channel.Party{
		"a guest":                {},
		"an admin":               {Study: north.Study, Role: identity.Admin, Name: "north"},
		"a coordinator":          {Study: north.Study, Role: identity.Coordinator, Name: "coordinator"},
		"a coordinator named so": {Study: north.Study, Role: identity.Coordinator, Name: "north"},
		"no role":                {Study: north.Study, Name: "north"},
		"a stranger":             {Study: north.Study, Role: identity.Client, Name: "east"},
		"a client elsewhere":     another,
		"nobody":                 {Study: north.Study, Role: identity.Client},
	} {
		for method, call := range methods {
			if method == "renew" && peer == (channel.Party{}) {
				continue // a guest may send this request too, because the client has signed it
			}
			if got := reasonOf(t, call(peer)); got != transport.Denied {
				t.Errorf("%s to %s: %q", method, name, got)
			}
		}
	}
	if !reflect.DeepEqual(before, s.content()) {
		t.Error("the store has changed")
	}
	for _, n := range []uint64{0, 4, 1 << 63} {
		if _, err := s.study.Entry(t.Context(), north, n); reasonOf(t, err) != transport.Unknown {
			t.Errorf("entry %d: %v", n, err)
		}
	}
}

//abuse:case A06 another client's name, keys or token: denied, state unchanged
//abuse:case P11 an expired or used token: denied
func TestHostileGuests(t *testing.T) {
	var later atomic.Int64
	h, parties := founded(t, Options{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}, planeText(noPrivacy, "rounds = 1", ""), "north", "south", "late")
	north, south, late := parties[0], parties[1], parties[2]
	check(t, north.join(t.Context()))
	key, err := seal.Generate()
	check(t, err)
	entry := func(p *party, name identity.Name, role identity.Role, pin identity.Pin, r seal.Recipient) []byte {
		e, err := roster.NewEntry(p.identity, p.invited.Study, name, role, pin, r)
		check(t, err)
		return e.Bytes()
	}
	before := h.content()
	for name, tc := range map[string]struct {
		change func(r *transport.JoinRequest)
		reason transport.Reason
	}{
		"no token":      {func(r *transport.JoinRequest) { r.Token = nil }, transport.Denied},
		"another token": {func(r *transport.JoinRequest) { r.Token = bytes.Clone(r.Token); r.Token[0]++ }, transport.Denied},
		"north's token": {func(r *transport.JoinRequest) { r.Token = north.joinRequest().Token }, transport.Denied},
		"north's entry": {func(r *transport.JoinRequest) { r.Entry = north.entry.Bytes() }, transport.Denied},
		"late's name": {func(r *transport.JoinRequest) {
			r.Entry = entry(south, "late", identity.Client, south.tls.Pin(), key.Recipient())
		}, transport.Denied},
		"a coordinator": {func(r *transport.JoinRequest) {
			r.Entry = entry(south, "south", identity.Coordinator, south.tls.Pin(), key.Recipient())
		}, transport.Denied},
		"the coordinator's pin": {func(r *transport.JoinRequest) {
			r.Entry = entry(south, "south", identity.Client, h.study.st.own.Pin, key.Recipient())
		}, transport.Denied},
		"north's pin": {func(r *transport.JoinRequest) {
			r.Entry = entry(south, "south", identity.Client, north.tls.Pin(), key.Recipient())
		}, transport.Denied},
		"the hub's recipient": {func(r *transport.JoinRequest) {
			r.Entry = entry(south, "south", identity.Client, south.tls.Pin(), north.hub.Recipient)
		}, transport.Denied},
		"no entry":        {func(r *transport.JoinRequest) { r.Entry = nil }, transport.Malformed},
		"an entry cut":    {func(r *transport.JoinRequest) { r.Entry = r.Entry[1:] }, transport.Malformed},
		"north's request": {func(r *transport.JoinRequest) { r.Request = north.request }, transport.Malformed},
		"no request":      {func(r *transport.JoinRequest) { r.Request = nil }, transport.Malformed},
		"north again, other keys": {func(r *transport.JoinRequest) {
			r.Token = north.joinRequest().Token
			r.Entry = entry(north, "north", identity.Client, south.tls.Pin(), key.Recipient())
		}, transport.OutOfPlace},
	} {
		r := south.joinRequest()
		tc.change(&r)
		_, err := h.study.Join(t.Context(), r)
		if got := reasonOf(t, err); got != tc.reason {
			t.Errorf("%s: %q (%v), want %q", name, got, err, tc.reason)
		}
	}
	if !reflect.DeepEqual(before, h.content()) {
		t.Error("the store has changed")
	}
	first, err := h.study.Join(t.Context(), north.joinRequest())
	check(t, err)
	second, err := h.study.Join(t.Context(), north.joinRequest())
	check(t, err)
	_, err = channel.NewCredentials(north.peer, north.tls, second.Authority, second.Certificate, h.hub.options.Now())
	check(t, err)
	second.Certificate = first.Certificate // every reply contains a new certificate
	if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(before, h.content()) {
		t.Error("joining again gets another reply")
	}
	// By now, the invitation has expired.
	later.Store(int64(2 * time.Hour))
	if _, err := h.study.Join(t.Context(), late.joinRequest()); reasonOf(t, err) != transport.Denied {
		t.Errorf("an expired invitation: %v", err)
	}
}
