package wire

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi"
)

// Cuts are a message in parts, each of which is gone when the next one comes.
type cuts struct {
	message []byte
	sizes   []int // over and over
	fails   bool  // in the place of the last part
}

func (c cuts) Len() int { return len(c.message) }

func (c cuts) Each(f func(part []byte) error) error {
	for rest, k := c.message, 0; len(rest) > 0; k++ {
		n := min(max(1, c.sizes[k%len(c.sizes)]), len(rest))
		if c.fails && n == len(rest) {
			return io.ErrUnexpectedEOF
		}
		part := slices.Clone(rest[:n])
		err := f(part)
		clear(part)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// unpacked is a release read with its numbers where they are, which are put into it then.
func unpacked(m Encoded, l Limits) (*pvi.Release, error) {
	r, numbers, err := ReadPackedRelease(m, l)
	if err != nil {
		return nil, err
	}
	err = numbers.Each(func(block []int64) error {
		r.Change = append(r.Change, block...)
		return nil
	})
	if err == nil && numbers.Len() != len(r.Change) {
		err = errors.New("there are other numbers than it says")
	}
	return r, err
}

// asOne fails unless a release is read in parts as it is as a whole: as the same one, or refused with the same words.
func asOne(t interface{ Fatalf(string, ...any) }, b []byte, l Limits, sizes ...int) {
	want, wantErr := ReadRelease(b, l)
	got, err := unpacked(cuts{message: b, sizes: sizes}, l)
	if wantErr != nil {
		var refused *pvi.Refused
		if !errors.As(err, &refused) || err.Error() != wantErr.Error() {
			t.Fatalf("in parts of %v: %v, want %v", sizes, err, wantErr)
		}
		return
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("in parts of %v: %+v, %v, want %+v", sizes, got, err, want)
	}
}

func TestReadPackedRelease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := codecs[Release].write(codecs[Release].draw(t))
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(t, "parts")
		asOne(t, b, limits, sizes...)
		asOne(t, b, Limits{Elements: 3, Clients: 5, Name: 3}, sizes...)
		asOne(t, b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")], limits, sizes...)
		asOne(t, append(slices.Clone(b), 0), limits, sizes...)
		at := rapid.IntRange(0, len(b)-1).Draw(t, "changed")
		changed := slices.Clone(b)
		changed[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		asOne(t, changed, limits, sizes...)
	})
}

// Errors of the message are not refusals of it.
func TestAPackedReleaseThatFails(t *testing.T) {
	b := codecs[Release].write(codecs[Release].fixed)
	for _, size := range []int{1, 7, len(b)} {
		_, err := unpacked(cuts{b, []int{size}, true}, limits)
		var refused *pvi.Refused
		if !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &refused) {
			t.Errorf("in parts of %d: %v", size, err)
		}
	}
}

// Numbers are read in little memory, however many there are.
func TestPackedNumbersAreNotCopied(t *testing.T) {
	const n = 1 << 20
	b := AppendRelease(nil, &pvi.Release{Client: "north", Change: make([]int64, n)})
	memory.Within(t, 64<<10, func() {
		_, numbers, err := ReadPackedRelease(Whole(b), Limits{n, 1, 5})
		if err != nil || numbers.Len() != n || numbers.Each(func([]int64) error { return nil }) != nil {
			t.Errorf("%v", err)
		}
	})
}

// A message that is read as a whole is put together, and wiped, unless it is in memory.
func TestReadWhole(t *testing.T) {
	want := []byte("some bytes of a message")
	var kept []byte
	read := func(b []byte) error {
		if string(b) != string(want) {
			t.Errorf("%q was read", b)
		}
		kept = b
		return nil
	}
	for _, m := range []Encoded{cuts{message: want, sizes: []int{5, 1}}, Whole(want)} {
		if err := ReadWhole(m, read); err != nil {
			t.Error(err)
		}
		if _, whole := m.(Whole); whole == reflect.DeepEqual(kept, make([]byte, len(want))) {
			t.Errorf("of %T %q is left", m, kept)
		}
	}
	if err := ReadWhole(cuts{want, []int{5}, true}, read); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}
