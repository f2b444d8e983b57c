package coordinator

import (
	"errors"
	"os"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/internal/durable"
)

// While the disk is full, a request for an entry must be refused with the reason Unavailable, so
// that the client tries again later. The health check must fail.
func TestEntryIsUnavailableWhileDiskIsFull(t *testing.T) {
	full := errors.New("no space left on device")
	g, broken := &guillotine{once: true, after: true}, false
	o := store.Options{Commit: g.commit}
	o.Layer.File = func(path string) (durable.File, error) {
		if broken {
			return nil, full
		}
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	h, parties := begun(t, Options{Store: o}, planeText(clientPrivacy, "rounds = 2", ""), "north", "south")
	check(t, parties[0].follow(t.Context()))
	check(t, h.study.call(t.Context(), func(*batch) error {
		h.study.cache = newCache()
		return nil
	}))
	g.at, broken = g.seen+1, true
	if err := h.hub.store.Update(func(*store.Tx) error { return nil }); err == nil {
		t.Error("a failed transaction returned no error")
	}
	if _, err := h.study.Entry(t.Context(), parties[0].peer, 1); !unavailable(err) {
		t.Errorf("%v, want the coordinator to be unavailable", err)
	}
	if err := h.hub.Healthy(); !errors.Is(err, full) {
		t.Errorf("with a full disk the health is %v", err)
	}
	broken = false
	if err := h.hub.Healthy(); err != nil {
		t.Error(err)
	}
	if _, err := h.study.Entry(t.Context(), parties[0].peer, 1); err != nil {
		t.Error(err)
	}
}
