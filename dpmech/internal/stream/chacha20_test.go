package stream

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// The test compares block 1 of the key stream with the example in RFC 8439, section 2.3.2. The RFC
// gives no values for block 0.
func TestPlaceIsChaCha20(t *testing.T) {
	var key [KeySize]byte
	for i := range key {
		key[i] = byte(i)
	}
	const block = "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4ed2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
	want, err := hex.DecodeString(block)
	if err != nil {
		t.Fatal(err)
	}
	var s Stream
	Place(&s, key, [3]uint32{0x09000000, 0x4a000000, 0})
	s.Fill(make([]uint64, 8))
	for i := range 8 {
		if got, w := s.Uint64(), binary.LittleEndian.Uint64(want[8*i:]); got != w {
			t.Errorf("word %d of block 1 is %016x, want %016x", i, got, w)
		}
	}
	// The expected value is the first word of block 1 in the example of RFC 8439, section 2.4.2,
	// which has a different nonce.
	Place(&s, key, [3]uint32{0, 0x4a000000, 0})
	s.Fill(make([]uint64, 8))
	if got, want := s.Uint64(), uint64(0xe1d91b40f3514f22); got != want {
		t.Errorf("the first word under another nonce is %016x, want %016x", got, want)
	}
	s.Wipe()
	defer func() {
		if recover() == nil {
			t.Error("a wiped stream can be read")
		}
	}()
	s.Uint64()
}

// PlaceAt must give the same words as Place from the given block on.
func TestPlaceAtSkipsBlocks(t *testing.T) {
	var key [KeySize]byte
	key[3] = 9
	nonce := [3]uint32{1, 2, 3}
	var all, rest Stream
	Place(&all, key, nonce)
	want := make([]uint64, 800)
	all.Fill(want)
	for _, block := range []int{0, 1, 7, 64} {
		PlaceAt(&rest, key, nonce, uint32(block))
		for i, w := range want[8*block:] {
			if got := rest.Uint64(); got != w {
				t.Fatalf("word %d from block %d on is %016x, want %016x", i, block, got, w)
			}
		}
	}
}
