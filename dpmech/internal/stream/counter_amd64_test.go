package stream

import (
	"bytes"
	"crypto/fips140"
	"math/rand/v2"
	"testing"
)

// Lanes make the bits of the standard library's cipher, of any key and in pieces of any
// number, also where the counter carries from byte to byte.
func TestLanesAreTheStandard(t *testing.T) {
	if !hasLanes {
		t.Skip("this processor has no lanes")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var key [KeySize]byte
		for i := range key {
			key[i] = byte(rng.Uint64())
		}
		got, want := newLanes(&key), newStandard(key)
		for block := 0; block < 70_000; {
			n := pieceSize * (1 + rng.IntN(40))
			a, b := make([]byte, n), make([]byte, n)
			got.fill(a)
			want.fill(b)
			if !bytes.Equal(a, b) {
				t.Fatalf("from block %d on other bits", block)
			}
			block += n / 16
		}
	}
}

// A wiped generator holds no key.
func TestLanesAreWiped(t *testing.T) {
	if !hasLanes || fips140.Enabled() {
		t.Skip("no lanes here")
	}
	s := New([KeySize]byte{1})
	l, ok := s.bits.(*lanes)
	if !ok || l.keys == [rounds + 1][16]byte{} {
		t.Fatalf("a stream is made by %T, or without keys", s.bits)
	}
	if s.Wipe(); l.keys != [rounds + 1][16]byte{} {
		t.Error("the key schedule of a wiped stream is there")
	}
}

func BenchmarkFill(b *testing.B) {
	dst := make([]byte, bufferSize)
	for name, g := range map[string]generator{"standard": newStandard([KeySize]byte{1}), "as it is": newCounter([KeySize]byte{1})} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bufferSize)
			for b.Loop() {
				g.fill(dst)
			}
		})
	}
}
