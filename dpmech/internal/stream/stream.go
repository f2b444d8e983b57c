// Package stream is the random bit generator behind every sampler and every
// noise share: AES-256 in counter mode, keyed with 32 bytes. It is internal to
// dpmech so that only two places can key it: [fedpvi/dpmech.NewStream] from the
// operating system, and fedpvi/dpmech/seeded for simulations and tests.
package stream

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/bits"
)

// KeySize is the length of a stream's key in bytes.
const KeySize = 32

// bufferSize trades the cost of a refill against bytes thrown away: a client
// of a small model uses a few hundred bytes a round before it is keyed anew.
const bufferSize = 512

// A Stream yields independent uniform bits. It is not safe for concurrent use.
type Stream struct {
	ctr  cipher.Stream
	used int
	buf  [bufferSize]byte
}

// New returns the stream of key. Two streams of one key are the same stream.
func New(key [KeySize]byte) *Stream {
	s := new(Stream)
	Rekey(s, key)
	return s
}

// Rekey restarts s as the stream of key. It is no method, so that holding a
// stream is not enough to choose its key.
func Rekey(s *Stream, key [KeySize]byte) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("stream: " + err.Error()) // unreachable: the key has a legal length
	}
	var iv [aes.BlockSize]byte
	s.ctr = cipher.NewCTR(block, iv[:])
	s.used = bufferSize
}

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 {
	if s.used == bufferSize {
		s.refill()
	}
	v := binary.LittleEndian.Uint64(s.buf[s.used:])
	s.used += 8
	return v
}

func (s *Stream) refill() {
	clear(s.buf[:])
	s.ctr.XORKeyStream(s.buf[:], s.buf[:])
	s.used = 0
}

// Uint64n returns a uniform integer in [0, n), exactly: a draw that would make
// it uneven is drawn again (Lemire, "Fast random integer generation in an
// interval", 2019). It panics if n is 0.
func (s *Stream) Uint64n(n uint64) uint64 {
	if n == 0 {
		panic("stream: Uint64n(0)")
	}
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for threshold := -n % n; lo < threshold; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}
