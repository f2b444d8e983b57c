package dpmech

import (
	"crypto/rand"
	"encoding/binary"

	"fedpvi/dpmech/internal/stream"
)

// A Stream is a source of uniform bits for samplers and noise. It is not safe for concurrent
// use. Every goroutine and every purpose needs a separate Stream.
type Stream = stream.Stream

// NewStream returns a stream with a key from the operating system's cryptographic source. Daemons
// have no other way to make a stream.
func NewStream() *Stream {
	s := new(Stream)
	var key [stream.KeySize]byte
	rand.Read(key[:]) // Read never returns an error: crypto/rand aborts the program instead.
	stream.Rekey(s, key)
	clear(key[:])
	return s
}

// Split restarts dst with a key of 256 bits that it draws from src. For anybody who cannot
// distinguish AES from a random permutation, the bits of dst are independent of the later bits of
// src and of other streams split from src. The key of src determines the bits of all these streams.
func Split(dst, src *Stream) {
	var key [stream.KeySize]byte
	drawKey(&key, src)
	stream.Rekey(dst, key)
	clear(key[:])
}

// drawKey sets key to the next 256 bits of src.
func drawKey(key *[stream.KeySize]byte, src *Stream) {
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], src.Uint64())
	}
}

// Streams contains the streams for one round of a sampled mechanism. The keys of the two streams
// are independent, so that one stream reveals nothing about the other.
type Streams struct {
	Sampling *Stream // stream that chooses the records
	Noise    *Stream // stream for the noise
}

// NewStreams returns two streams with separate keys from the operating system's
// cryptographic source.
func NewStreams() *Streams {
	return &Streams{Sampling: NewStream(), Noise: NewStream()}
}

// Wipe overwrites the keys and the unused bits. Reading a stream then panics.
func (s *Streams) Wipe() {
	s.Sampling.Wipe()
	s.Noise.Wipe()
}
