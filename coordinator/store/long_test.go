package store

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

const longValue = shortParts * pieceValue

// Long bodies and states are there as they were put, also where a shorter one takes the place of a longer
// one, and earlier programs leave a file with one alone. Nothing of a value is there before the transaction
// that names it, and what one that never came has left is written over.
func TestLongValues(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{})
	create(t, s)
	random := rand.NewChaCha8([32]byte{1})
	value := func(size int) []byte {
		b := make([]byte, size)
		random.Read(b)
		return b
	}
	sizes := []int{0, 1, pieceValue, longValue, longValue + 1, 3*longValue + 5, longValue + pieceValue, partsAtOnce*pieceValue + pieceValue, 10, 2 * longValue}
	var want [][]byte
	var before []byte
	for i, size := range sizes {
		n, v := uint64(i+1), value(size)
		check(t, second(s.PrepareBody(hash, n, write(value(size+longValue))))) // whose transaction never comes
		body, err := s.PrepareBody(hash, n, write(v))
		check(t, err)
		state, err := s.PrepareState(hash, write(v))
		check(t, err)
		if body.Size != int64(size) || body.Hash != sha256.Sum256(v) || body.Long() != (size > longValue) {
			t.Errorf("%d bytes are prepared as %d, long: %v", size, body.Size, body.Long())
		}
		in(t, s, func(st Study) error {
			if e, b := st.Item(n); e != nil || b != nil || !bytes.Equal(st.State(), before) {
				t.Errorf("%d bytes are there before they are put", len(b))
			}
			check(t, st.Append(n, []byte("e"), body, 0))
			return st.PutState(state)
		})
		want, before = append(want, v), v
		in(t, s, func(st Study) error {
			if !bytes.Equal(st.State(), v) || st.State() == nil {
				t.Errorf("a state of %d bytes is one of %d", size, len(st.State()))
			}
			for n, w := range want {
				if _, b := st.Item(uint64(n + 1)); b == nil || !bytes.Equal(b, w) {
					t.Errorf("entry %d of %d bytes has %d", n+1, len(w), len(b))
				}
			}
			return nil
		})
		if err := second(s.PrepareBody(hash, n, write(value(2*longValue)))); size > longValue && err == nil {
			t.Error("a body is written over")
		}
	}
	in(t, s, func(st Study) error {
		state := st.part(state).Stats()
		if most := 2 + sizes[len(sizes)-1]/pieceValue; state.KeyN > most {
			t.Errorf("the state has %d keys, at most %d are its own", state.KeyN, most)
		}
		piece := make([]byte, 2*pieceValue)
		check(t, st.ReadBody(6, piece, longValue-5))
		if !bytes.Equal(piece, want[5][longValue-5:][:len(piece)]) || st.ReadBody(6, piece, int64(sizes[5]-len(piece)+1)) == nil {
			t.Error("a part of a body is not what it was, or beyond its end")
		}
		key := append(number(6), number(pieceValue)...) // a part in the middle is gone
		check(t, st.part(bodies).Delete(key))
		if _, b := st.Item(6); b != nil {
			t.Errorf("%d bytes of an entry of which a part is missing", len(b))
		}
		return nil
	})
}

// The first transaction with a part of a long value makes the file one that earlier programs leave alone.
func TestLongValuesAreOfALaterFormat(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{})
	create(t, s)
	for size, want := range map[int]string{longValue: formatFirst, longValue + 1: formatSlots} {
		check(t, second(s.PrepareBody(hash, 1, write(make([]byte, size)))))
		check(t, s.View(func(tx *Tx) error {
			if got := string(tx.tx.Bucket([]byte("about")).Get(formatKey)); got < want {
				t.Errorf("with %d bytes the format is %s", size, got)
			}
			return nil
		}))
	}
}

// Values that a program before format 3 has written are read, and a state of one gives way to the next.
func TestLongValuesOfFormat2(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{})
	create(t, s)
	old := bytes.Repeat([]byte("0123456789"), longValue/3)
	in(t, s, func(st Study) error {
		check(t, st.atLeast(formatLong))
		check(t, st.part(envelopes).Put(number(1), []byte("e")))
		for part, key := range map[string][]byte{bodies: number(1), state: stateNow} {
			check(t, st.part(part).Put(key, old[:pieceValue]))
			check(t, putParts(st.part(part), key, old[pieceValue:], pieceValue, pieceValue))
		}
		return nil
	})
	next, err := s.PrepareState(hash, write(old[1:]))
	check(t, err)
	in(t, s, func(st Study) error {
		if _, b := st.Item(1); !bytes.Equal(b, old) || !bytes.Equal(st.State(), old) {
			t.Errorf("an entry of %d bytes and a state of %d, both have %d", len(b), len(st.State()), len(old))
		}
		return st.PutState(next)
	})
	in(t, s, func(st Study) error {
		if !bytes.Equal(st.State(), old[1:]) || st.part(state).Get(stateNow) != nil {
			t.Error("the next state is not in the place of the old one")
		}
		return nil
	})
}

func write(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for len(b) > 0 { // in pieces of a size that does not go with that of parts
			n := min(len(b), 10_007)
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	}
}

func second(_ *Value, err error) error { return err }
