package coordinator

import (
	"reflect"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
)

// The coordinator must find an answer's receipt while the round is open, in the transaction that
// ends the round, and later.
func TestReceiptsAreFound(t *testing.T) {
	s := newStand(t)
	key := store.ReleaseKey{Ask: 1, Client: "north"}
	receipt := func(k store.ReleaseKey, more ...transcript.Receipt) (h Hash, found bool) {
		check(t, s.study.call(t.Context(), func(b *batch) (err error) {
			b.receipts = more
			h, found, err = b.receipt(k)
			return err
		}))
		return h, found
	}
	want := transcript.BodyOf(s.good.Envelope).Hash
	if _, found := receipt(key); found {
		t.Error("there is a receipt before there is an answer")
	}
	check(t, s.north.submit(t.Context(), s.good, 1000))
	if h, found := receipt(key); !found || h != want {
		t.Errorf("while the round is open: %x, %v", h, found)
	}
	check(t, s.south.stepAll(t.Context()))
	if h, found := receipt(key); !found || h != want {
		t.Errorf("when the round is closed: %x, %v", h, found)
	}
	later := transcript.Receipt{Ask: 99, Client: "north", Release: Hash{9}}
	if h, found := receipt(store.ReleaseKey{Ask: 99, Client: "north"}, later); !found || h != later.Release {
		t.Errorf("when it is not on disk yet: %x, %v", h, found)
	}
	if _, found := receipt(store.ReleaseKey{Ask: 99, Client: "south"}, later); found {
		t.Error("one client has the receipt of another")
	}
}

func TestMemoryDoesNotGrowWithRounds(t *testing.T) {
	c := newCrowd(t, 3, wideText(4, 20))
	var sizes []int
	for range 12 {
		c.round(c.study.st.chain.Protocol())
		check(t, c.study.call(t.Context(), func(b *batch) error {
			sizes = append(sizes, reachable(b.state))
			return nil
		}))
	}
	if first, last := sizes[3], sizes[len(sizes)-1]; last != first {
		t.Errorf("a state of %d values after four rounds has %d after %d", first, last, len(sizes))
	}
}

// reachable returns the total length of all maps, slices, arrays and strings that are reachable
// from v.
func reachable(v any) (n int) {
	walk(reflect.ValueOf(v), map[place]bool{}, func(v reflect.Value) bool {
		switch v.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
			n += v.Len()
		}
		return true
	})
	return n
}
