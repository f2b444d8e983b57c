package store

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// Long bodies and states are there as they were put, also where a shorter one takes the place of a longer
// one, and earlier programs leave a file with one alone.
func TestLongValues(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{})
	create(t, s)
	format := func() (f string) {
		check(t, s.View(func(tx *Tx) error { f = string(tx.tx.Bucket([]byte("about")).Get(formatKey)); return nil }))
		return f
	}
	random := rand.NewChaCha8([32]byte{1})
	value := func(size int) []byte {
		b := make([]byte, size)
		random.Read(b)
		return b
	}
	sizes := []int{0, 1, longValue, longValue + 1, 3*longValue + 5, longValue + pieceValue, 10}
	var want [][]byte
	for i, size := range sizes {
		v := value(size)
		want = append(want, v)
		in(t, s, func(st Study) error {
			check(t, st.Append(uint64(i+1), []byte("e"), v, 0))
			return st.PutState(v)
		})
		if i == 2 && format() != formatFirst || i == 3 && format() != formatLong {
			t.Errorf("with %d bytes the format is %s", size, format())
		}
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
	}
	in(t, s, func(st Study) error { // a part in the middle is gone
		key := append(number(5), number(pieceValue)...)
		check(t, st.part(bodies).Delete(key))
		if _, b := st.Item(5); b != nil {
			t.Errorf("%d bytes of an entry of which a part is missing", len(b))
		}
		return nil
	})
}
