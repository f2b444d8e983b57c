package stream

import (
	"encoding/binary"

	"golang.org/x/crypto/chacha20"
)

// Place restarts s as the key stream of ChaCha20 (RFC 8439) for a key and a nonce of
// three little-endian words, from block 0 on: word i of 64 bits is the (i mod 8)-th of
// block ⌊i/8⌋, so that a machine which computes words in any order has the same ones. Two nonces of one key make streams that have nothing to do with
// each other, to anybody who cannot tell ChaCha20 from a random function. It is no
// method, as [Rekey] is none.
func Place(s *Stream, key [KeySize]byte, nonce [3]uint32) { PlaceAt(s, key, nonce, 0) }

// PlaceAt is Place from a block on.
func PlaceAt(s *Stream, key [KeySize]byte, nonce [3]uint32, block uint32) {
	var n [chacha20.NonceSize]byte
	for i, w := range nonce {
		binary.LittleEndian.PutUint32(n[4*i:], w)
	}
	c, err := chacha20.NewUnauthenticatedCipher(key[:], n[:])
	if err != nil {
		panic("stream: " + err.Error()) // unreachable: key and nonce have legal lengths
	}
	c.SetCounter(block)
	s.Wipe()
	s.bits = standard{c}
}
