// Package stream generates the random bits for all samplers and noise shares, with AES-256 in
// counter mode and a key of 32 bytes. It is internal to dpmech, so that only the following
// functions can choose a key. [fedpvi/dpmech.NewStream] gets the key from the operating system, and
// [fedpvi/dpmech.Split] draws it from another stream. [fedpvi/dpmech.FillPublicNormal] computes the
// key from public values, for numbers that protect no data. The package fedpvi/dpmech/seeded
// computes the key from a seed, for simulations and tests. Plans for devices use ChaCha20 instead
// ([Place]).
package stream

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/bits"
)

// KeySize is the length of a stream's key in bytes.
const KeySize = 32

// firstFill and bufferSize are the smallest and the largest number of bytes that a stream generates
// at a time. The number grows with use. With a small model, a client uses only a few hundred bytes
// in a round before the stream gets a new key. A sampler or a noise vector uses megabytes, and then
// a few long calls to the cipher take half as long as many short ones. The bits of a stream do not
// depend on these numbers.
const (
	firstFill  = 512
	bufferSize = 4096
)

// A Stream generates independent uniform bits. It is not safe for concurrent use. The zero Stream
// has no key, and reading it panics.
type Stream struct {
	bits     cipher.Stream // cipher; nil if the stream has no key
	used, to int           // buf[used:to] has not been read yet
	buf      [bufferSize]byte
}

// New returns a stream with the given key. Two streams with the same key yield the same bits.
func New(key [KeySize]byte) *Stream {
	s := new(Stream)
	Rekey(s, key)
	return s
}

// Rekey restarts s with the given key: AES-256 in counter mode, from block 0. Rekey is not a
// method, so that code with access to a stream cannot choose its key.
func Rekey(s *Stream, key [KeySize]byte) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("stream: " + err.Error()) // unreachable, because the key has a legal length
	}
	var iv [aes.BlockSize]byte
	s.Wipe()
	s.bits = cipher.NewCTR(block, iv[:])
}

// Wipe removes the key and overwrites all bits that were generated but not read. From then on,
// reading the stream panics until it gets a new key. The standard library cannot overwrite the
// expanded key, so this remains in memory until the garbage collector frees it.
func (s *Stream) Wipe() {
	clear(s.buf[:s.to])
	s.bits = nil
	s.used, s.to = 0, 0
}

// Uint64 returns 64 uniform bits. It panics if s has no key.
func (s *Stream) Uint64() uint64 {
	if s.used == s.to {
		s.refill()
	}
	v := binary.LittleEndian.Uint64(s.buf[s.used:])
	s.used += 8
	return v
}

// refill generates the next bits of the stream. Each call generates twice as many as the last, up
// to the size of the buffer.
func (s *Stream) refill() {
	if s.bits == nil {
		panic("stream: read without a key: the stream was wiped, or never made by NewStream")
	}
	s.to = min(max(2*s.to, firstFill), bufferSize)
	clear(s.buf[:s.to])
	s.bits.XORKeyStream(s.buf[:s.to], s.buf[:s.to])
	s.used = 0
}

// Fill sets each element of dst to 64 uniform bits. The result is the same as from calls to Uint64,
// but Fill is faster. It panics if s has no key.
func (s *Stream) Fill(dst []uint64) {
	for len(dst) > 0 {
		if s.used == s.to {
			s.refill()
		}
		from := s.buf[s.used:s.to]
		n := min(len(dst), len(from)/8)
		decode(dst[:n], from[:8*n])
		s.used += 8 * n
		dst = dst[n:]
	}
}

// decode sets dst to the little-endian words in src. It decodes four words at a time, which needs
// fewer bounds checks.
func decode(dst []uint64, src []byte) {
	for len(dst) >= 4 && len(src) >= 32 {
		d, f := dst[:4:4], src[:32:32]
		d[0] = binary.LittleEndian.Uint64(f)
		d[1] = binary.LittleEndian.Uint64(f[8:])
		d[2] = binary.LittleEndian.Uint64(f[16:])
		d[3] = binary.LittleEndian.Uint64(f[24:])
		dst, src = dst[4:], src[32:]
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
}

// Uint64n returns an integer that is exactly uniform in [0, n). It rejects draws that would make
// some integers more likely than others (Lemire, "Fast random integer generation in an interval",
// 2019). It panics if n is 0.
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
