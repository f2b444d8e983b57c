package coordinator

import (
	"errors"
	"os"
	"strings"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/internal/durable"
)

// While the disk is full, the coordinator must refuse a request for an entry with the reason
// Unavailable, so that the client tries again later. The health check must fail.
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

// While writes fail, the status must say that the study waits for the coordinator's disk, and not
// for a client. A call without changes must not hide the failure.
func TestStatusNamesAFullDisk(t *testing.T) {
	full, broken := errors.New("no space left on device"), false
	o := store.Options{Commit: func(commit func() error) error {
		if broken {
			return full
		}
		return commit()
	}}
	h, _ := begun(t, Options{Store: o}, planeText(clientPrivacy, "rounds = 2", ""), "north", "south")
	write := func() error {
		return h.study.call(t.Context(), func(b *batch) error {
			b.writes = append(b.writes, func(store.Study) error { return nil })
			return nil
		})
	}
	status := func() Status {
		s, err := h.study.Status(t.Context())
		check(t, err)
		return s
	}
	broken = true
	if err := write(); err == nil {
		t.Error("a failed transaction returned no error")
	}
	for range 2 {
		if s := status(); s.Wait() != "the disk of the coordinator" || !strings.Contains(s.Reason, full.Error()+": free space") {
			t.Errorf("the study waits for %q: %s", s.Wait(), s.Reason)
		}
	}
	broken = false
	check(t, write())
	if s := status(); s.Wait() != "answers: north, south" || s.Reason != "" {
		t.Errorf("with space on the disk the study waits for %q: %s", s.Wait(), s.Reason)
	}
}
