package accountant

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/internal/testing/memory"
)

// oneOfEach has an event of each kind with its encoding, which was written by hand according to
// encoding.go.
var oneOfEach = []struct {
	event    Event
	encoding string
}{
	{Gaussian{1, 2, AddRemove}, "01 01 000000000000f03f 0000000000000040 01"},
	{DiscreteGaussian{4, 1 << 23, 3, 100, ZeroOut}, "01 02 0000000000001040 0000000000006041 0300000000000000 6400000000000000 03"},
	{Poisson{0.5, 1, ReplaceOne}, "01 03 000000000000e03f 000000000000f03f 02"},
	{WithoutReplacement{0.5, 1, ReplaceOne}, "01 04 000000000000e03f 000000000000f03f 02"},
	{RandomAllocation{16, 1, 2, AddRemove}, "01 05 1000000000000000 0100000000000000 0000000000000040 01"},
	{Permutation{2, ZeroOut}, "01 06 0000000000000040 03"},
	{Laplace{1, 2, AddRemove}, "01 07 000000000000f03f 0000000000000040 01"},
	{Approximate{1, 0, AddRemove}, "01 08 000000000000f03f 0000000000000000 01"},
	{Repeated{Gaussian{0, 1, AddRemove}, 7}, "01 09 0700000000000000 01 0000000000000000 000000000000f03f 01"},
	{Composed{Composed{}, Laplace{1, 2, AddRemove}}, "01 0a 02000000 0a 00000000 07 000000000000f03f 0000000000000040 01"},
}

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(text), []byte(" "), nil)))
	check(t, err)
	return b
}

func TestEventEncoding(t *testing.T) {
	if len(oneOfEach) != len(kinds)-1 {
		t.Errorf("%d kinds are tested, of %d", len(oneOfEach), len(kinds)-1)
	}
	for _, c := range oneOfEach {
		want := fromHex(t, c.encoding)
		if got, err := MarshalEvent(c.event); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%#v is written as %x (%v), want %x", c.event, got, err, want)
		}
		if got, err := UnmarshalEvent(want); err != nil || !reflect.DeepEqual(got, c.event) {
			t.Errorf("%x is read as %#v (%v), want %#v", want, got, err, c.event)
		}
	}
}

func TestUnmarshalEventErrors(t *testing.T) {
	for _, c := range oneOfEach {
		whole := fromHex(t, c.encoding)
		for n := range whole {
			if e, err := UnmarshalEvent(whole[:n]); err == nil {
				t.Errorf("%x, cut to %d bytes, is read as %#v", whole, n, e)
			}
		}
		if _, err := UnmarshalEvent(append(bytes.Clone(whole), 0)); !errors.Is(err, ErrEventForm) {
			t.Errorf("%x with a byte more: %v", whole, err)
		}
	}
	for name, text := range map[string]string{
		"another version":      "02 06 0000000000000040 03",
		"an unknown kind":      "01 0b 0000000000000040 03",
		"no adjacency":         "01 06 0000000000000040 00",
		"minus zero":           "01 07 0000000000000080 0000000000000040 01",
		"a negative scale":     "01 07 000000000000f03f 00000000000000c0 01",
		"not a number":         "01 07 000000000000f87f 0000000000000040 01",
		"a negative count":     "01 09 ffffffffffffffff 01 0000000000000000 000000000000f03f 01",
		"more events than fit": "01 0a ffffffff 0a 00000000",
		"two adjacencies":      "01 0a 02000000 06 0000000000000040 02 06 0000000000000040 03",
	} {
		if e, err := UnmarshalEvent(fromHex(t, text)); err == nil {
			t.Errorf("%s: read as %#v", name, e)
		}
	}
}

func TestMarshalEventErrors(t *testing.T) {
	deep := Event(Gaussian{1, 1, AddRemove})
	for range maxEventDepth + 1 {
		deep = Repeated{deep, 1}
	}
	var long Composed
	for range MaxEventSize / 16 {
		long = append(long, Gaussian{1, 1, AddRemove})
	}
	for name, e := range map[string]Event{
		"none":               nil,
		"a nil part":         Composed{nil},
		"no noise":           Gaussian{1, 0, AddRemove},
		"an infinite ε":      Approximate{math.Inf(1), 0, AddRemove},
		"an empty adjacency": Permutation{1, ""},
		"one too deep":       deep,
		"one too long":       long,
	} {
		if b, err := MarshalEvent(e); err == nil {
			t.Errorf("%s: written in %d bytes", name, len(b))
		}
	}
}

func TestEventsKeepTheirCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		b, err := MarshalEvent(e)
		check(t, err)
		read, err := UnmarshalEvent(b)
		if err != nil || !reflect.DeepEqual(read, e) {
			t.Fatalf("%#v is read as %#v, %v", e, read, err)
		}
		f := drawFilter(t)
		before, errBefore := f.Quote(e)
		after, errAfter := f.Quote(read)
		if before != after || (errBefore == nil) != (errAfter == nil) {
			t.Fatalf("cost %g (%v) became %g (%v)", before, errBefore, after, errAfter)
		}
	})
}

func TestQuoteEqualsCharge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t)
		for range rapid.IntRange(1, 5).Draw(t, "releases") {
			e, spent := drawEvent(t), f.Spent()
			cost, quoted := f.Quote(e)
			if f.Spent() != spent {
				t.Fatalf("a quote changed the spending from %g to %g", spent, f.Spent())
			}
			charged := f.Clone().Charge(e)
			if (quoted == nil) != (charged == nil) || quoted != nil && quoted.Error() != charged.Error() {
				t.Fatalf("quoted %v, charged %v", quoted, charged)
			}
			if f.Spent() != spent {
				t.Fatal("a charge to a clone counts")
			}
			if err := f.Charge(e); err == nil && (f.Spent() < spent+cost || !(cost >= 0) || math.IsInf(cost, 0)) {
				t.Fatalf("quoted %g, and %g became %g", cost, spent, f.Spent())
			}
		}
	})
}

func FuzzUnmarshalEvent(f *testing.F) {
	for _, c := range oneOfEach {
		b, err := MarshalEvent(c.event)
		check(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		memory.Bound(t, len(b), func() { UnmarshalEvent(b) })
		e, err := UnmarshalEvent(b)
		if err != nil {
			return
		}
		again, err := MarshalEvent(e)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x is read as %#v, which is written as %x, %v", b, e, again, err)
		}
	})
}
