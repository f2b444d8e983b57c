package stream

import (
	"encoding/binary"

	"golang.org/x/crypto/chacha20"
)

// Place restarts s as the key stream of ChaCha20 (RFC 8439) from block 0, with the given key and a
// nonce of three little-endian words. Each block contains eight 64-bit words: word i of the stream
// is word i mod 8 of block ⌊i/8⌋. Machines can therefore compute the words in any order. Streams
// with the same key and different nonces are independent for anybody who cannot distinguish
// ChaCha20 from a random function. Place is not a method, so that code with access to a stream
// cannot choose its key.
func Place(s *Stream, key [KeySize]byte, nonce [3]uint32) { PlaceAt(s, key, nonce, 0) }

// PlaceAt is like [Place], but starts at the given block.
func PlaceAt(s *Stream, key [KeySize]byte, nonce [3]uint32, block uint32) {
	var n [chacha20.NonceSize]byte
	for i, w := range nonce {
		binary.LittleEndian.PutUint32(n[4*i:], w)
	}
	c, err := chacha20.NewUnauthenticatedCipher(key[:], n[:])
	if err != nil {
		panic("stream: " + err.Error()) // unreachable, because the key and the nonce have legal lengths
	}
	c.SetCounter(block)
	s.Wipe()
	s.bits = c
}
