package wire

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestReaderReturnsAppendedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small, large := rapid.Uint16().Draw(t, "small"), rapid.Uint64().Draw(t, "large")
		text, fixed := rapid.SliceOf(rapid.Byte()).Draw(t, "text"), rapid.SliceOfN(rapid.Byte(), 7, 7).Draw(t, "fixed")
		b := AppendUint16(nil, small)
		b = append(AppendBytes(AppendUint64(b, large), text), fixed...)

		r := NewReader(b)
		if got := r.Uint16(); got != small {
			t.Errorf("read %d, want %d", got, small)
		}
		if got := r.Uint64(); got != large {
			t.Errorf("read %d, want %d", got, large)
		}
		if got := r.Bytes(len(text)); !bytes.Equal(got, text) {
			t.Errorf("read %x, want %x", got, text)
		}
		got := make([]byte, 7)
		if r.Done() || r.Len() != 7 {
			t.Error("Done before the end of the input")
		}
		if r.Fixed(got); !bytes.Equal(got, fixed) || !r.Done() {
			t.Errorf("read %x, want %x", got, fixed)
		}
	})
}

func TestReadsBeyondTheEndFail(t *testing.T) {
	text := AppendBytes(nil, "four")
	for name, read := range map[string]func(r *Reader){
		"too long for the limit": func(r *Reader) { r.Bytes(3) },
		"past the end":           func(r *Reader) { r.Take(len(text) + 1) },
		"negative":               func(r *Reader) { r.Take(-1) },
		"no meaning":             func(r *Reader) { r.Fail() },
		"number past the end":    func(r *Reader) { r.Take(len(text) - 1); r.Uint16() },
		"large past the end":     func(r *Reader) { r.Take(1); r.Uint64() },
		"byte past the end":      func(r *Reader) { r.Take(len(text)); r.Uint8() },
		"length past the end":    func(r *Reader) { r.Take(6); r.Bytes(9) },
	} {
		r := NewReader(text)
		read(r)
		if !r.Failed() {
			t.Errorf("%s: did not fail", name)
		}
		if r.Take(0) != nil || r.Done() {
			t.Errorf("%s: a read succeeded after a failed one", name)
		}
	}
	if r := NewReader([]byte{0xff, 0xff, 0xff, 0xff, 1}); r.Bytes(1<<31-1) != nil || !r.Failed() {
		t.Error("a length of four gigabytes was accepted")
	}
}
