package stream

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
)

// A generator makes the bits of a stream, one piece after the other.
type generator interface {
	// fill overwrites dst with the next bits. Its length is a multiple of pieceSize.
	fill(dst []byte)

	// wipe forgets the key as far as that is possible.
	wipe()
}

// pieceSize is a number of bytes of which all pieces of a stream are made.
const pieceSize = 256

// newCounter returns AES-256 in counter mode, from block 0 on: the standard library's where
// only validated code may be used.
func newCounter(key [KeySize]byte) generator {
	if hasLanes && !fips140.Enabled() {
		return newLanes(&key)
	}
	return newStandard(key)
}

// standard is a cipher of the standard library, or like one. Its key schedule lies in the cipher,
// which offers no way to overwrite it.
type standard struct{ cipher.Stream }

func newStandard(key [KeySize]byte) standard {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("stream: " + err.Error()) // unreachable: the key has a legal length
	}
	var iv [aes.BlockSize]byte
	return standard{cipher.NewCTR(block, iv[:])}
}

func (s standard) fill(dst []byte) {
	clear(dst)
	s.XORKeyStream(dst, dst)
}

func (standard) wipe() {}
