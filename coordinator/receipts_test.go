package coordinator

import (
	"reflect"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
)

// The test checks that the coordinator finds the receipt of an answer: while the round is open,
// in the transaction that ends the round, and later.
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
			size := reachable(reflect.ValueOf(b.state), map[place]bool{})
			sizes = append(sizes, size)
			return nil
		}))
	}
	if first, last := sizes[3], sizes[len(sizes)-1]; last != first {
		t.Errorf("a state of %d values after four rounds has %d after %d", first, last, len(sizes))
	}
}

// A place identifies a pointer by its address and type.
type place struct {
	at uintptr
	to reflect.Type
}

// reachable returns the total number of elements of all maps, slices and strings that can be
// reached from v. It follows each pointer once.
func reachable(v reflect.Value, seen map[place]bool) (n int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		if v.Kind() == reflect.Pointer {
			at := place{v.Pointer(), v.Type()}
			if seen[at] {
				return 0
			}
			seen[at] = true
		}
		return reachable(v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			n += reachable(v.Field(i), seen)
		}
	case reflect.Slice, reflect.Array:
		n = v.Len()
		if flat(v.Type().Elem()) {
			return n
		}
		for i := range v.Len() {
			n += reachable(v.Index(i), seen)
		}
	case reflect.Map:
		n = v.Len()
		for each := v.MapRange(); each.Next(); {
			n += reachable(each.Key(), seen) + reachable(each.Value(), seen)
		}
	case reflect.String:
		n = v.Len()
	}
	return n
}

func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return false
	}
	return true
}
