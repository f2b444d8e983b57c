package coordinator

import (
	"errors"
	"testing"

	"fedpvi/coordinator/store"
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
