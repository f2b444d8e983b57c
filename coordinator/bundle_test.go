package coordinator

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/memory"
	"fedpvi/transport"
)

func played(t *testing.T, document []byte) (*house, []*party) {
	h, parties := begun(t, Options{}, document, two...)
	play(t, parties...)
	return h, parties
}

func bundleOf(t *testing.T, h *house) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, h.study.WriteBundle(&b))
	return b.Bytes()
}

func verified(t *testing.T, h *house) (*bundle.Report, error) {
	t.Helper()
	return bundle.Verify(bytes.NewReader(bundleOf(t, h)))
}

func TestBundlesAreVerified(t *testing.T) {
	for name, document := range map[string][]byte{
		"synchronous":  planeText(clientPrivacy, "rounds = 2", ""),
		"sequential":   planeText(noPrivacy, "rounds = 2\nschedule = \"sequential\"", ""),
		"asynchronous": planeText(noPrivacy, "rounds = 2\nschedule = \"asynchronous\"", ""),
	} {
		h, _ := played(t, document)
		r, err := verified(t, h)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		posterior, err := h.study.Posterior(t.Context())
		check(t, err)
		if r.Ending != "end" || r.Coordinator != h.hub.Fingerprint() || len(r.Clients) != 2 || r.Answers != 4 || r.Result.Mean[0] != posterior.Marginals[0].Interval.Mean {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestBundleBeforeTheEnd(t *testing.T) {
	s := newStand(t)
	check(t, s.north.submit(t.Context(), s.good, 1000))
	r, err := verified(t, s.house)
	if err != nil || r.Ending != "none" || r.Entries != 2 || r.Answers != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	check(t, s.study.Abort(t.Context(), "a drill"))
	r, err = verified(t, s.house)
	if err != nil || r.Ending != "abort" {
		t.Errorf("%+v, %v", r, err)
	}
}

//abuse:case P05 a bundle with a changed byte is refused
func TestChangedBundleIsRefused(t *testing.T) {
	h, _ := played(t, planeText(clientPrivacy, "rounds = 1", ""))
	text := bundleOf(t, h)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		at := random.IntN(len(text))
		changed := bytes.Clone(text)
		changed[at] ^= 1 << random.IntN(8)
		if _, err := bundle.Verify(bytes.NewReader(changed)); err == nil {
			t.Errorf("a bundle was accepted after byte %d of %d was changed", at, len(text))
		}
		if _, err := bundle.Verify(bytes.NewReader(text[:at])); err == nil {
			t.Errorf("a bundle was accepted after %d bytes were cut", len(text)-at)
		}
	}
	if _, err := bundle.Verify(bytes.NewReader(append(bytes.Clone(text), 0))); err == nil {
		t.Error("a bundle was accepted after a byte was added")
	}
}

// retold returns the bundle of a coordinator that lies and signs its lies. The function change
// alters the body of every entry except the roster. Entries of the kind other get a wrong model
// hash.
func retold(t *testing.T, h *house, items []transport.Item, change func(kind transcript.Kind, body []byte) []byte, other transcript.Kind) []byte {
	t.Helper()
	var out bytes.Buffer
	w := bundle.NewWriter(&out, h.study.fixed.Document)
	check(t, h.study.look(func(kept store.Study) error {
		writeConsents(t, w, kept, keep)
		answers := 0
		for _, c := range h.study.st.clients {
			answers += c.answers
		}
		w.Answers(answers)
		return kept.Releases(1, func(k store.ReleaseKey, envelope []byte) error {
			w.Answer(k.Ask, k.Client, envelope)
			return nil
		})
	}))
	w.Entries(uint64(len(items)))
	honest := transcript.Begin(h.study.hash, h.study.st.who.Public())
	lie := honest
	for _, i := range items {
		var e transcript.Entry
		var err error
		honest, e, err = honest.Follow(i.Envelope, i.Body)
		check(t, err)
		envelope, body := i.Envelope, i.Body
		if e.Kind != transcript.Roster {
			body = change(e.Kind, bytes.Clone(i.Body))
			if e.Kind == other {
				e.Model[0] ^= 1
			}
			envelope, err = lie.Sign(h.study.st.who, e.Kind, e.Ask, e.Model, body)
			check(t, err)
		}
		lie, _, err = lie.Follow(envelope, body)
		check(t, err)
		w.Entry(envelope, body)
	}
	check(t, w.Close())
	return out.Bytes()
}

//abuse:case A21 verification of the bundle finds wrong entries that the coordinator signed
func TestWrongEntriesAreFound(t *testing.T) {
	h, parties := played(t, planeText(clientPrivacy, "rounds = 2", ""))
	items := parties[0].entries
	last := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	for name, tc := range map[string]struct {
		change func(kind transcript.Kind, body []byte) []byte
		where  string
		other  transcript.Kind // entries of this kind get a wrong model hash
	}{
		"nothing":           {func(_ transcript.Kind, b []byte) []byte { return b }, "", ""},
		"another plan":      {on("plan", last), "entry 2", ""},
		"another sum":       {on("outcome", last), "entry 3", ""},
		"another posterior": {on(transcript.End, posterior), "entry 6", ""},
		"another receipt":   {on(transcript.End, last), "entry 6", ""},
		"a receipt less":    {on(transcript.End, receiptLess), "entry 6", ""},
		"another model":     {on("", last), "entry 3", "outcome"},
		"another ending":    {on("", last), "entry 6", transcript.End},
	} {
		_, err := bundle.Verify(bytes.NewReader(retold(t, h, items, tc.change, tc.other)))
		if tc.where == "" {
			check(t, err)
			continue
		}
		var fault *bundle.Fault
		if !errors.As(err, &fault) || fault.Where != tc.where {
			t.Errorf("%s: %v, want an error at %s", name, err, tc.where)
		}
	}
}

//abuse:case A21 steps of secure aggregation in a study without it are refused
func TestStepsOfAnotherProtocolAreFound(t *testing.T) {
	h, parties := played(t, planeText(clientPrivacy, "rounds = 1", ""))
	for _, step := range []transcript.Kind{transcript.Cut, transcript.Certificate, transcript.Opening} {
		var items []transport.Item
		honest := transcript.Begin(h.study.hash, h.study.st.who.Public())
		lie := honest
		say := func(kind transcript.Kind, ask uint64, model Hash, body []byte) {
			envelope, err := lie.Sign(h.study.st.who, kind, ask, model, body)
			check(t, err)
			lie, _, err = lie.Follow(envelope, body)
			check(t, err)
			items = append(items, transport.Item{Envelope: envelope, Body: body})
		}
		for _, i := range parties[0].entries {
			next, e, err := honest.Follow(i.Envelope, i.Body)
			check(t, err)
			if honest = next; e.Kind == transcript.Roster {
				lie, items = honest, append(items, i)
				continue
			}
			say(e.Kind, e.Ask, e.Model, i.Body)
			if e.Kind.Plan() {
				say(step, e.Ask, e.Model, []byte{1})
			}
		}
		_, err := bundle.Verify(bytes.NewReader(retold(t, h, items, on("", nil), "")))
		var fault *bundle.Fault
		if !errors.As(err, &fault) || fault.Where != "entry 3" {
			t.Errorf("%s: %v, want an error at entry 3", step, err)
		}
	}
}

func on(kind transcript.Kind, change func(b []byte) []byte) func(transcript.Kind, []byte) []byte {
	return func(k transcript.Kind, b []byte) []byte {
		if k != kind {
			return b
		}
		return change(b)
	}
}

func posterior(b []byte) []byte {
	return []byte(strings.Replace(string(b), `"mean":[`, `"mean":[1`, 1)[:len(b)])
}

func receiptLess(b []byte) []byte {
	c, err := transcript.ParseClosing(b)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	result := func(w io.Writer) error { _, err := w.Write(c.Result); return err }
	if err := transcript.WriteClosing(&out, len(c.Result), result, c.Receipts[1:]); err != nil {
		return nil
	}
	return out.Bytes()
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("fedpvi-bundle-1\n"))
	f.Add(append([]byte("fedpvi-bundle-1\n"), make([]byte, 64)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var err error
		memory.Bound(t, len(b), func() { _, err = bundle.Verify(bytes.NewReader(b)) })
		if err == nil {
			t.Error("a bundle without a valid signature was accepted")
		}
	})
}
