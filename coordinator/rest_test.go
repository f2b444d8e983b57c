package coordinator

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/internal/durable"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// A coordinator that cannot read the state that λ rests in says so, reads it again, and goes on; the outcome is not
// another one for that.
func TestAStateThatCannotBeReadForAWhile(t *testing.T) {
	h := newHouse(t, Options{Store: store.Options{PartSize: 8}})
	h.found(planeText(clientPrivacy, "rounds = 2\nq = \"diagonal\"", ""))
	parties := h.invite("north", "south")
	for _, p := range parties {
		check(t, p.join(t.Context()))
	}
	for _, p := range parties {
		check(t, p.approve(t.Context()))
	}
	broken, failures := false, 0
	check(t, h.study.call(t.Context(), func(b *batch) error {
		slot, size := []byte(nil), int64(0)
		check(t, h.study.look(func(kept store.Study) error {
			slot, size = kept.StateSlot()
			return nil
		}))
		if slot == nil {
			t.Fatal("the state is a short one")
		}
		look := func(f func(store.Study) error) error {
			if broken {
				return errors.New("the disk is broken")
			}
			return h.study.look(f)
		}
		return b.state.server.Rest(stateIn(look, slot, size))
	}))
	broken = true
	for moved := true; moved; {
		moved = false
		for _, p := range parties {
			did, err := p.step(t.Context())
			if unavailable(err) {
				failures++
				did, err = p.step(t.Context())
			}
			check(t, err)
			moved = moved || did
		}
	}
	status, err := h.study.Status(t.Context())
	check(t, err)
	if status.Phase != Ended || failures != 1 {
		t.Errorf("the study is %s after %d failures", status.Phase, failures)
	}
}

// A state that is long while a question is open and short when none is takes λ into memory and out again: nothing fails for
// that.
func TestAStateThatBecomesShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := planeText(clientPrivacy, "rounds = 3\nq = \"diagonal\"", twoAreEnough)
		document, err := study.Parse("plane.toml", text)
		check(t, err)
		server, err := session.NewResting(document, []pvi.ClientID{"north", "south", "west"})
		check(t, err)
		without, err := server.MarshalBinary()
		check(t, err)
		_, _, err = server.NextSaying()
		check(t, err)
		with, err := server.MarshalBinary()
		check(t, err)
		var said bytes.Buffer
		failures := 0
		h := newHouse(t, Options{
			RoundDeadline: 10 * time.Minute,
			Log:           slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelError})),
			Store:         store.Options{PartSize: (len(without) + len(with)) / 64}, // of 32 parts a value is short
		})
		h.found(text)
		parties := h.invite("north", "south", "west")
		admit(t, parties...)
		isLong := func() bool {
			h.mustStatus() // the loop has done what it was to do
			slot := []byte(nil)
			check(t, h.study.look(func(kept store.Study) error {
				slot, _ = kept.StateSlot()
				return nil
			}))
			return slot != nil
		}
		for range 2 { // at the end of each nobody is there for the next
			if !isLong() {
				t.Fatal("the state with an open question is short")
			}
			play(t, parties[0], parties[1])
			time.Sleep(11 * time.Minute)
			synctest.Wait()
			if isLong() {
				t.Fatal("the state without an open question is long")
			}
			for _, p := range parties {
				if err := p.follow(t.Context()); unavailable(err) {
					failures++
				}
			}
			synctest.Wait()
		}
		play(t, parties...)
		if status := h.mustStatus(); status.Phase != Ended {
			t.Errorf("the study is %s", status.Phase)
		}
		if said.Len() > 0 || failures > 0 {
			t.Errorf("%d calls failed: %s", failures, &said)
		}
		check(t, h.hub.Close())
	})
}

// A disk that is full, so that what the file shows cannot be made safe, is no fault of a client that asks for an entry
// meanwhile: it asks again.
func TestAnEntryThatCannotBeReadForAWhile(t *testing.T) {
	full := errors.New("no space left on device")
	g, broken := &guillotine{once: true, after: true}, false
	o := store.Options{Commit: g.commit}
	o.Layer.File = func(path string) (durable.File, error) {
		if broken {
			return nil, full
		}
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	h := newHouse(t, Options{Store: o})
	h.found(planeText(clientPrivacy, "rounds = 2", ""))
	parties := h.invite("north", "south")
	for _, p := range parties {
		check(t, p.join(t.Context()))
		check(t, p.approve(t.Context()))
	}
	check(t, parties[0].follow(t.Context()))
	check(t, h.study.call(t.Context(), func(*batch) error {
		h.study.cache = newCache()
		return nil
	}))
	g.at, broken = g.seen+1, true
	if err := h.hub.store.Update(func(*store.Tx) error { return nil }); err == nil {
		t.Error("a transaction that failed is said to be there")
	}
	if _, err := h.study.Entry(t.Context(), parties[0].peer, 1); !unavailable(err) {
		t.Errorf("%v, want the coordinator to be unavailable", err)
	}
	broken = false
	if _, err := h.study.Entry(t.Context(), parties[0].peer, 1); err != nil {
		t.Error(err)
	}
}
