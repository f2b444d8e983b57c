package coordinator

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

//abuse:case P16 a deal with a changed body is refused, and the right one is taken after it
func TestDealWithAnotherBody(t *testing.T) {
	h, parties := begun(t, Options{}, secureText(1), four...)
	once(t, parties...) // sends the client's keys
	p := parties[0]
	check(t, p.follow(t.Context()))
	check(t, p.message(t.Context()))
	bad := transport.Item{Envelope: p.outbox.Envelope, Body: bytes.Clone(p.outbox.Body)}
	bad.Body[0] ^= 1
	if err := p.link.Submit(t.Context(), bad); reasonOf(t, err) != transport.Malformed {
		t.Fatalf("a changed body: %v", err)
	}
	check(t, p.link.Submit(t.Context(), *p.outbox))
	p.outbox = nil
	play(t, parties...)
	if result, err := h.study.Posterior(t.Context()); err != nil || result.Result.Accepted != 1 {
		t.Errorf("after a deal with a changed body: %+v, %v", result, err)
	}
}

//abuse:case P16 if too few deals can be decrypted the study ends, and the clients pay for no further plan
func TestTooFewDealersAreLeft(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 5", "aggregation = \"secure\"\nmin_clients = 3\ncolluders = 1"), "north", "south", "west")
	follow(t, parties...)
	parties[0].secure.gone = func(step sums.Step, _ uint64) bool { return step == sums.Confirming }
	play(t, parties...)
	check(t, h.study.Complain(t.Context(), parties[0].peer, 1, 2))
	play(t, parties...)
	s := h.mustStatus()
	if p := parties[2]; s.Phase != Aborted || p.ledger != 1 {
		t.Errorf("an honest client has dealt %d times, and the study is %+v", p.ledger, s)
	}
}

// spoilFirst sets an element of the first vector to the largest value that is allowed in a deal.
func spoilFirst(ask uint64, vector []int64) {
	if ask == 1 {
		vector[0] = sums.MaxElement
	}
}

//abuse:case P16 a sum that honest clients cannot have makes its round void, and no later one
func TestSumThatIsImpossible(t *testing.T) {
	h, parties := begun(t, Options{}, secureText(2), four...)
	follow(t, parties...)
	parties[0].secure.spoil = spoilFirst
	play(t, parties...)
	if p, err := h.study.Posterior(t.Context()); err != nil || p.Result.Accepted != 1 || p.Result.Void != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

//abuse:case P16 a complaint about a deal that is repeated is logged once
func TestRepeatedComplaints(t *testing.T) {
	var log bytes.Buffer
	h, parties := begun(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, secureText(1), four...)
	for _, p := range parties {
		check(t, p.follow(t.Context()))
		p.secure.gone = func(step sums.Step, _ uint64) bool { return step == sums.Confirming }
	}
	play(t, parties...)
	for range 3 {
		check(t, h.study.Complain(t.Context(), parties[0].peer, 1, 2))
	}
	if n := strings.Count(log.String(), "cannot decrypt"); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
}

// A client restores a state that is older than its keys, and sends new ones. If the coordinator
// accepted them, nobody could decrypt the client's deals, and the client would pay for them in
// vain.
//
//abuse:case A16 a client that has lost the keys that it sent is refused before it pays for a deal
func TestKeysAgain(t *testing.T) {
	_, parties := begun(t, Options{}, secureText(1), four...)
	p := parties[0]
	_, err := p.step(t.Context()) // sends the client's keys
	check(t, err)
	p.secure.Client, err = sums.NewClient(p.secure.federation, p.peer.Name)
	check(t, err)
	check(t, p.message(t.Context()))
	if err := p.link.Submit(t.Context(), *p.outbox); reasonOf(t, err) != transport.Denied {
		t.Errorf("other keys: %v", err)
	}
}

//abuse:case P13 the sealed keys of the clients are removed when the study is over
func TestKeysAreRemoved(t *testing.T) {
	for name, aborted := range map[string]bool{"over": false, "aborted": true} {
		h, parties := begun(t, Options{}, secureText(1), four...)
		once(t, parties...)
		kept := func() (size int64) {
			check(t, h.study.look(func(kept store.Study) error {
				for _, name := range four {
					size += kept.Have(store.ReleaseKey{Client: string(name)})
				}
				return nil
			}))
			return size
		}
		if want := int64(4 * parties[0].secure.federation.KeysSize()); kept() != want {
			t.Errorf("%d bytes of keys are stored, want %d", kept(), want)
		}
		if aborted {
			check(t, h.study.Abort(t.Context(), "a drill"))
		} else {
			play(t, parties...)
		}
		if n := kept(); n > 0 {
			t.Errorf("%s: %d bytes of keys are left", name, n)
		}
	}
}

// The study is aborted while a client is sending its keys. The coordinator must refuse the rest of
// the keys, and must not leave any files behind.
func TestKeysThatArriveAtTheEnd(t *testing.T) {
	h, parties := begun(t, Options{Store: store.Options{Long: 8}}, secureText(1), four...) // the keys are in files
	p := parties[0]
	check(t, p.follow(t.Context()))
	check(t, p.message(t.Context()))
	hash, body, half := transcript.BodyOf(p.outbox.Envelope).Hash, p.outbox.Body, int64(len(p.outbox.Body)/2)
	_, err := h.study.Offer(t.Context(), p.peer, p.outbox.Envelope, nil)
	check(t, err)
	check(t, h.study.Write(t.Context(), p.peer, hash, 0, body[:half]))
	check(t, h.study.Abort(t.Context(), "a drill"))
	if err := h.study.Write(t.Context(), p.peer, hash, half, body[half:]); reasonOf(t, err) != transport.Unavailable {
		t.Errorf("the rest of the keys: %v", err)
	}
	if _, err := h.study.Offer(t.Context(), p.peer, p.outbox.Envelope, nil); reasonOf(t, err) != transport.Ended {
		t.Errorf("the keys are offered again: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(h.dir, "bodies", "*", "new-*"))
	check(t, err)
	if len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// The bundle must be valid after each step of each client. The study includes a void round and is
// aborted.
func TestSecureBundlesBeforeTheEnd(t *testing.T) {
	h, parties := begun(t, Options{}, secureText(3), four...)
	follow(t, parties...)
	parties[0].secure.spoil = spoilFirst
	seen := map[uint64]bool{}
	for range 7 {
		for _, p := range parties {
			_, err := p.step(t.Context())
			check(t, err)
			r, err := verified(t, h)
			if err != nil || r.Ending != "none" {
				t.Fatalf("%+v, %v", r, err)
			}
			seen[r.Entries] = true
		}
	}
	check(t, h.study.Abort(t.Context(), "a drill"))
	if r, err := verified(t, h); err != nil || r.Ending != "abort" || r.Questions < 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if len(seen) < 8 {
		t.Errorf("only the bundles of %d entries were verified", len(seen))
	}
}

//abuse:case P16 columns of a plan that ends while they are fetched are refused as late
func TestColumnsOfAPlanThatEnds(t *testing.T) {
	h, parties := begun(t, Options{Store: store.Options{Long: 8}}, secureText(1), four...) // values of this size go to files, so the coordinator does not keep the deals in memory
	for _, p := range parties {
		check(t, p.follow(t.Context()))
		p.secure.gone = func(step sums.Step, _ uint64) bool { return step == sums.Confirming }
	}
	play(t, parties...)
	slow := parties[0]
	var late [2]transport.Pieces
	for i, of := range []transport.Wanted{{Ask: 1}, {KeysOf: []int{2}}} {
		var err error
		late[i], err = h.study.Pieces(t.Context(), slow.peer, of)
		check(t, err)
	}
	for _, p := range parties[1:] {
		p.secure.gone = nil
	}
	play(t, parties[1:]...)
	for i, p := range late {
		if err := p.Read(make([]byte, 10), 0); reasonOf(t, err) != transport.OutOfPlace {
			t.Errorf("pieces %d of a plan that is over: %v", i, err)
		}
	}
}
