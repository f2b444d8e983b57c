package sums

import (
	"bytes"
	"testing"

	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/memory"
)

// fixed makes a world of three clients that have exchanged their keys, and calls play with it. All
// processes of the fuzz engine must make the same world. fixed runs a test, because package
// cryptotest needs a testing.T for its seed.
func fixed(f *testing.F, play func(w *world)) (w *world) {
	f.Helper()
	all := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(all, []testing.InternalTest{{Name: "world", F: func(t *testing.T) {
		w = newWorld(t, 3, 3, 2).exchange()
		play(w)
	}}}) {
		f.FailNow()
	}
	w.t = f
	return w
}

// fuzzWorld plays one plan of a study with three clients. It returns the study, the first client's
// state after each step, and the bodies of the entries.
func fuzzWorld(f *testing.F) (w *world, states [][]byte, bodies map[transcript.Kind][]byte) {
	bodies = map[transcript.Kind][]byte{}
	w = fixed(f, func(w *world) { states = playPlan(w, bodies) })
	return w, states, bodies
}

func playPlan(w *world, bodies map[transcript.Kind][]byte) (states [][]byte) {
	keep := func() {
		state, err := w.clients[0].MarshalBinary()
		check(w.t, err)
		states = append(states, state)
	}
	keep()
	w.publish("plan", 1, nil)
	keep()
	for place := 1; place <= 3; place++ {
		w.deal(place, []int64{int64(place), -1})
	}
	bodies[transcript.Cut], _ = w.coordinator.NextCut()
	w.cut(1)
	w.learn(1, 2, 3)
	keep()
	w.confirm(1, 2, 3)
	keep()
	bodies[transcript.Certificate], _ = w.coordinator.NextCertificate()
	w.certify(1)
	keep()
	w.share(1, 2, 3)
	bodies[transcript.Opening], _, _ = w.coordinator.NextOpening()
	w.open(1)
	keep()
	return states
}

// FuzzFollow passes entries with arbitrary bodies to a client, in each step.
//
//abuse:case P16 an entry with any body is refused or is the next step, in bounded memory
func FuzzFollow(f *testing.F) {
	w, states, bodies := fuzzWorld(f)
	kinds := []transcript.Kind{"plan", transcript.Cut, transcript.Certificate, transcript.Opening, "outcome"}
	hashes := map[transcript.Kind]Hash{transcript.Cut: w.coordinator.cutHash, transcript.Certificate: w.coordinator.certificate}
	for i, kind := range kinds {
		for at := range states {
			f.Add(at, i, uint64(1), bodies[kind])
		}
	}
	f.Fuzz(func(t *testing.T, at, kind int, ask uint64, body []byte) {
		at, kind = (at%len(states)+len(states))%len(states), (kind%len(kinds)+len(kinds))%len(kinds)
		c, err := RestoreClient(w.federation, w.federation.Name(1), states[at])
		check(t, err)
		before := c.Step()
		e := transcript.Entry{Kind: kinds[kind], Ask: ask, Model: model(1), Hash: hashes[kinds[kind]]}
		memory.Bound(t, len(body), func() { err = c.Follow(e, body) })
		switch state, _ := c.MarshalBinary(); {
		case err != nil && !bytes.Equal(state, states[at]):
			t.Error("a refused entry changed the state")
		case err == nil && kind > 0 && kind < 4 && c.Step() != before+1:
			t.Errorf("step %d follows step %d", c.Step(), before)
		case err == nil && kind == 2 && !bytes.Equal(body, bodies[transcript.Certificate]):
			t.Error("a second certificate was followed")
		case err == nil && kind == 3 && !bytes.Equal(body, bodies[transcript.Opening]):
			t.Error("a second opening was followed")
		}
	})
}

func FuzzGather(f *testing.F) {
	w, states, _ := fuzzWorld(f)
	good := w.pieces(1)
	f.Add(good)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, pieces []byte) {
		c, err := RestoreClient(w.federation, w.federation.Name(1), states[2])
		check(t, err)
		same := bytes.Equal(pieces, good)
		memory.Bound(t, len(pieces), func() { err = c.Gather(bytes.Clone(pieces)) })
		if (err == nil) != same && c.gathered == nil {
			t.Errorf("columns that are the dealt ones: %t; error: %v", same, err)
		}
	})
}

// FuzzMessages passes arbitrary messages that clients have signed to the coordinator.
//
//abuse:case P16 a coordinator takes any message of a client in bounded memory, or refuses it
func FuzzMessages(f *testing.F) {
	w := fixed(f, func(w *world) {
		w.publish("plan", 1, nil)
		for place := 1; place <= 3; place++ {
			w.deal(place, nil)
		}
		w.cut(1)
		w.confirm(1)
	})
	for _, envelope := range [][]byte{w.clients[0].dealt.envelope, w.clients[0].said.envelope, w.keys[1].envelope} {
		payload, err := signed.ClaimedPayload(envelope)
		check(f, err)
		h, err := signed.Claims(envelope)
		check(f, err)
		f.Add(string(h.Domain), payload, []byte{1})
	}
	f.Fuzz(func(t *testing.T, domain string, payload, body []byte) {
		for _, h := range []signed.Header{w.coordinator.header(signed.Deal), w.coordinator.header(signed.Confirm), w.coordinator.header(signed.Share), w.federation.chain.Header(signed.Keys, 0, Hash{})} {
			if string(h.Domain) != domain {
				continue
			}
			envelope, err := signed.Sign(w.clients[1].identity, h, payload)
			if err != nil {
				return
			}
			memory.Bound(t, 4*(len(envelope)+len(body)), func() {
				w.coordinator.AddKeys(envelope)
				w.coordinator.CheckDeal(envelope)
				w.coordinator.AddConfirmation(envelope)
				w.coordinator.AddShare(envelope, body)
			})
		}
		if n := len(w.coordinator.confirmations) + len(w.coordinator.shares); n > 2 || w.coordinator.Keyed() != 3 {
			t.Errorf("%d messages of three clients were received", n)
		}
	})
}

func FuzzRestore(f *testing.F) {
	w, states, _ := fuzzWorld(f)
	for _, state := range states {
		f.Add(state)
		f.Add(state[1:])
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		var c *Client
		var err error
		memory.Bound(t, len(state), func() { c, err = RestoreClient(w.federation, w.federation.Name(1), state) })
		if err != nil {
			return
		}
		if again, err := c.MarshalBinary(); err != nil || !bytes.Equal(again, state) {
			t.Error("one state has two encodings")
		}
	})
}

func FuzzLearn(f *testing.F) {
	w := fixed(f, func(*world) {})
	at, size := w.federation.Keys(2, 1)
	good := w.keys[2].body[at : at+size]
	f.Add(good)
	state, err := w.clients[0].MarshalBinary()
	check(f, err)
	f.Fuzz(func(t *testing.T, sealed []byte) {
		c, err := RestoreClient(w.federation, w.federation.Name(1), state)
		check(t, err)
		memory.Bound(t, len(sealed), func() { err = c.Learn(w.clients[0].opener, 2, sealed) })
		if (err == nil) != bytes.Equal(sealed, good) {
			t.Errorf("learning a key: %v", err)
		}
	})
}
