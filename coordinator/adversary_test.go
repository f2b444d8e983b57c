package coordinator

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/signed"
	"fedpvi/transport"
)

// If two goroutines add the same study at once, exactly one must succeed. After a restart, the hub
// must be able to run the study with the keys on disk.
func TestFoundingTwiceAtOnce(t *testing.T) {
	h := newHouse(t, Options{})
	document := planeText(noPrivacy, "rounds = 2", "")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, _, errs[i] = h.hub.Found(Founding{File: "plane.toml", Document: document, Addresses: []string{"hub.example.org:7443"}}, nil, 0)
		})
	}
	wg.Wait()
	founded := 0
	for _, err := range errs {
		if err == nil {
			founded++
		}
	}
	if founded != 1 {
		t.Errorf("the study was added %d times", founded)
	}
	check(t, h.hub.Close())
	h.open() // the hub now loads the keys from the disk
	admit(t, h.invite("north")...)
}

//abuse:case A10 a message that was signed for another purpose is not kept as evidence
func TestForeignMessageIsNoEvidence(t *testing.T) {
	s := newStand(t)
	check(t, s.north.submit(t.Context(), s.good, 1<<20))
	for name, change := range map[string]func(h *signed.Header){
		"another study":  func(h *signed.Header) { h.Study[0]++ },
		"another domain": func(h *signed.Header) { h.Domain = signed.Head },
		"another roster": func(h *signed.Header) { h.Roster[0]++ },
	} {
		if got := reasonOf(t, s.north.submit(t.Context(), s.with(change), 1<<20)); got != transport.Malformed {
			t.Errorf("%s: %q", name, got)
		}
	}
	if n := len(evidence(t, s.house)); n != 0 {
		t.Errorf("%d envelopes are kept as evidence", n)
	}
	again := s.with(func(h *signed.Header) { h.LedgerSeq++ })
	if got := reasonOf(t, s.north.submit(t.Context(), again, 1<<20)); got != transport.OutOfPlace || len(evidence(t, s.house)) != 1 {
		t.Errorf("a second answer: %q, evidence %x", got, evidence(t, s.house))
	}
}

// evidence returns the envelopes that the coordinator keeps as evidence against clients.
func evidence(t *testing.T, h *house) map[store.ReleaseKey][]byte {
	t.Helper()
	all := map[store.ReleaseKey][]byte{}
	check(t, h.study.look(func(kept store.Study) error {
		return kept.Evidence(func(k store.ReleaseKey, envelope []byte) error { all[k] = bytes.Clone(envelope); return nil })
	}))
	return all
}

//abuse:case P13 a client that left stays out
func TestClientThatLeftStaysOut(t *testing.T) {
	s := newStand(t)
	_, err := s.study.Offer(t.Context(), s.south.peer, s.south.prepare(t).Envelope, nil)
	check(t, err)
	check(t, s.south.leave(t.Context(), "no time"))
	if got := reasonOf(t, s.south.approve(t.Context())); got != transport.OutOfPlace {
		t.Errorf("a consent after leaving: %q", got)
	}
}

// The coordinator refuses tiny pieces, because each piece costs a key in the store.
//
//abuse:case A12 bodies in tiny pieces are refused; the store does not grow
func TestTinyPiecesAreRefused(t *testing.T) {
	s := newStand(t)
	before := len(s.content())
	for _, size := range []int{1, minPiece - 1} {
		if got := reasonOf(t, s.north.submit(t.Context(), s.good, size)); got != transport.Unavailable {
			t.Errorf("pieces of %d bytes: %q", size, got)
		}
	}
	if n := len(s.content()); n != before {
		t.Errorf("the store has %d values, want %d as before", n, before)
	}
	check(t, s.north.submit(t.Context(), s.good, minPiece))
}

// A bundle without a transcript has no coordinator signature, so it must be refused.
func TestBundleWithoutTranscriptIsRefused(t *testing.T) {
	var b bytes.Buffer
	w := bundle.NewWriter(&b, planeText(noPrivacy, "rounds = 2", ""))
	w.Consents(0)
	w.Answers(0)
	w.Entries(0)
	check(t, w.Close())
	if r, err := bundle.Verify(&b); err == nil {
		t.Errorf("%+v", r)
	}
}

// Verify also checks the answers in the bundle of a study that is running or was aborted.
func TestForgedAnswersBeforeTheEndAreRefused(t *testing.T) {
	for _, aborted := range []bool{false, true} {
		s := newStand(t)
		check(t, s.north.submit(t.Context(), s.good, 1<<20))
		if aborted {
			check(t, s.study.Abort(t.Context(), "a drill"))
		}
		forged := bytes.Clone(s.good.Envelope)
		forged[len(forged)-1] ^= 1
		for name, answer := range map[string]struct {
			ask    uint64
			client string
			with   []byte
			right  bool
		}{
			"the answer that was sent":  {1, "north", s.good.Envelope, true},
			"another signature":         {1, "north", forged, false},
			"another client's":          {1, "south", s.good.Envelope, false},
			"of a stranger":             {1, "east", s.good.Envelope, false},
			"of the coordinator":        {1, "coordinator", s.good.Envelope, false},
			"to a plan to come":         {2, "north", s.good.Envelope, false},
			"to plan 0, which is never": {0, "north", s.good.Envelope, false},
		} {
			r, err := bundle.Verify(bytes.NewReader(bundleWith(t, s.house, keep, answer.ask, answer.client, answer.with)))
			var fault *bundle.Fault
			if answer.right && (err != nil || r.Answers != 1) || !answer.right && !errors.As(err, &fault) {
				t.Errorf("%s, aborted %v: %+v, %v", name, aborted, r, err)
			}
		}
	}
}

func keep(envelope []byte) []byte { return envelope }

func TestForgedConsents(t *testing.T) {
	s := newStand(t)
	check(t, s.north.submit(t.Context(), s.good, 1<<20))
	for name, forge := range map[string]func([]byte) []byte{
		"none":              func([]byte) []byte { return nil },
		"a release instead": func([]byte) []byte { return s.good.Envelope },
		"a changed one":     func(e []byte) []byte { e = bytes.Clone(e); e[len(e)-1] ^= 1; return e },
	} {
		var fault *bundle.Fault
		if _, err := bundle.Verify(bytes.NewReader(bundleWith(t, s.house, forge, 1, "north", s.good.Envelope))); !errors.As(err, &fault) || fault.Where != "entry 1" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func writeConsents(t *testing.T, w *bundle.Writer, kept store.Study, change func(envelope []byte) []byte) {
	t.Helper()
	consents, err := kept.All(store.Approval)
	check(t, err)
	w.Consents(len(consents))
	for name, envelope := range consents {
		w.Consent(name, change(envelope))
	}
}

// bundleWith returns the bundle of a study that has one answer: the given envelope, stored as the
// client's answer to plan ask. The function consent may change each consent.
func bundleWith(t *testing.T, h *house, consent func(envelope []byte) []byte, ask uint64, client string, envelope []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := bundle.NewWriter(&out, h.study.fixed.Document)
	check(t, h.study.look(func(kept store.Study) error {
		writeConsents(t, w, kept, consent)
		w.Answers(1)
		w.Answer(ask, client, envelope)
		w.Entries(kept.Items())
		for n := uint64(1); n <= kept.Items(); n++ {
			envelope, body, err := kept.Item(n)
			check(t, err)
			w.Entry(envelope, body)
		}
		return w.Close()
	}))
	return out.Bytes()
}
