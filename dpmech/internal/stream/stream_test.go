package stream

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"testing"
)

// reference computes the key stream block by block. Block i is AES of the number i, read as
// little-endian words.
func reference(t *testing.T, key [KeySize]byte, words int) []uint64 {
	t.Helper()
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	var in, out [aes.BlockSize]byte
	var stream []uint64
	for i := uint64(0); len(stream) < words; i++ {
		binary.BigEndian.PutUint64(in[8:], i)
		block.Encrypt(out[:], in[:])
		stream = append(stream, binary.LittleEndian.Uint64(out[:]), binary.LittleEndian.Uint64(out[8:]))
	}
	return stream[:words]
}

// Reads of any size must return the output of AES in counter mode.
func TestStreamIsCounterMode(t *testing.T) {
	key := [KeySize]byte{1, 2, 3}
	want := reference(t, key, 40_000)
	s := New(key)
	var got []uint64
	for length := 0; len(got) < len(want); length = (length*3 + 1) % 1500 {
		for range length % 7 {
			got = append(got, s.Uint64())
		}
		part := make([]uint64, length)
		s.Fill(part)
		got = append(got, part...)
	}
	for i, w := range want {
		if got[i] != w {
			t.Fatalf("word %d is %016x, want %016x", i, got[i], w)
		}
	}
}

func TestWipe(t *testing.T) {
	s := New([KeySize]byte{4})
	s.Fill(make([]uint64, 100))
	s.Uint64()
	s.Wipe()
	if s.bits != nil || !bytes.Equal(s.buf[:], make([]byte, bufferSize)) {
		t.Error("Wipe left a key or bits in the stream")
	}
	for name, read := range map[string]func(s *Stream){
		"Uint64":  func(s *Stream) { s.Uint64() },
		"Uint64n": func(s *Stream) { s.Uint64n(3) },
		"Fill":    func(s *Stream) { s.Fill(make([]uint64, 1)) },
	} {
		for state, s := range map[string]*Stream{"wiped": s, "zero": new(Stream)} {
			if !panics(func() { read(s) }) {
				t.Errorf("%s of a %s stream returns bits", name, state)
			}
		}
	}
	Rekey(s, [KeySize]byte{5})
	if got, want := s.Uint64(), reference(t, [KeySize]byte{5}, 1)[0]; got != want {
		t.Errorf("a stream with a new key begins with %016x, want %016x", got, want)
	}
}

// When a stream gets a new key, the bits that were already read must be overwritten.
func TestRekeyClears(t *testing.T) {
	s := New([KeySize]byte{6})
	s.Fill(make([]uint64, 3000))
	Rekey(s, [KeySize]byte{7})
	if !bytes.Equal(s.buf[:], make([]byte, bufferSize)) {
		t.Error("a stream with a new key still has bits of the old key")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func BenchmarkFill(b *testing.B) {
	s := New([KeySize]byte{1})
	dst := make([]uint64, bufferSize/8)
	b.SetBytes(bufferSize)
	for b.Loop() {
		s.Fill(dst)
	}
}
