// Package stream is the random bit generator behind every sampler and every
// noise share: AES-256 in counter mode, keyed with 32 bytes. It is internal to
// dpmech so that only few places can key it: [fedpvi/dpmech.NewStream] from the
// operating system, [fedpvi/dpmech.Split] from another stream,
// [fedpvi/dpmech.FillPublicNormal] from what everybody knows, for
// numbers that hide nothing, and fedpvi/dpmech/seeded for simulations and tests.
package stream

import (
	"encoding/binary"
	"math/bits"
)

// KeySize is the length of a stream's key in bytes.
const KeySize = 32

// The buffer grows with use: a client of a small model uses a few hundred bytes
// a round before it is keyed anew, and a sampler or a noise vector uses
// megabytes, for which few long calls of the cipher are twice as fast as many
// short ones. How much is made at a time does not show in what is read.
const (
	firstFill  = 512
	bufferSize = 4096
)

// A Stream yields independent uniform bits. It is not safe for concurrent use.
// The zero Stream has no key, and panics when it is read.
type Stream struct {
	bits     generator // nil without a key
	used, to int       // buf[used:to] is yet to be read
	buf      [bufferSize]byte
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
	s.Wipe()
	s.bits = newCounter(key)
}

// Wipe forgets the key and all bits that were made and not read. Reading a wiped
// stream panics, until it is keyed anew. Where the cipher is the standard library's the
// key schedule is dropped, not overwritten: it offers no way to do so.
func (s *Stream) Wipe() {
	clear(s.buf[:s.to])
	if s.bits != nil {
		s.bits.wipe()
	}
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

// refill makes twice as many bits as the last time, up to the buffer's size.
func (s *Stream) refill() {
	if s.bits == nil {
		panic("stream: read without a key: the stream was wiped, or never made by NewStream")
	}
	s.to = min(max(2*s.to, firstFill), bufferSize)
	s.bits.fill(s.buf[:s.to])
	s.used = 0
}

// Fill sets every element of dst to 64 uniform bits: those that as many calls of
// Uint64 would return, at the speed of the cipher. It panics if s has no key.
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

// decode sets dst to the little-endian words of from: without lanes four at a time, where the
// compiler has no bounds to check.
func decode(dst []uint64, from []byte) {
	done := decodeLanes(dst, from)
	dst, from = dst[done:], from[8*done:]
	for len(dst) >= 4 && len(from) >= 32 {
		d, f := dst[:4:4], from[:32:32]
		d[0] = binary.LittleEndian.Uint64(f)
		d[1] = binary.LittleEndian.Uint64(f[8:])
		d[2] = binary.LittleEndian.Uint64(f[16:])
		d[3] = binary.LittleEndian.Uint64(f[24:])
		dst, from = dst[4:], from[32:]
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(from[8*i:])
	}
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
