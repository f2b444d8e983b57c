package dpmech

import (
	"crypto/rand"
	"encoding/binary"

	"fedpvi/dpmech/internal/stream"
)

// A Stream is a source of uniform bits for samplers and noise. It is not safe
// for concurrent use; give every goroutine, and every purpose, its own.
type Stream = stream.Stream

// NewStream returns a stream keyed by the operating system's cryptographic
// source. It is the only way for a daemon to get one.
func NewStream() *Stream {
	s := new(Stream)
	reseed(s)
	return s
}

func reseed(s *Stream) {
	var key [stream.KeySize]byte
	rand.Read(key[:]) // never fails: crypto/rand aborts the program instead
	stream.Rekey(s, key)
	clear(key[:])
}

// Split restarts dst with a key of 256 bits that it draws from src. What dst yields
// has nothing to do with what src yields later, or with other streams split from
// it, to anybody who cannot tell AES from a random permutation; who knows src knows
// them all.
func Split(dst, src *Stream) {
	var key [stream.KeySize]byte
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], src.Uint64())
	}
	stream.Rekey(dst, key)
	clear(key[:])
}

// Streams are the random bits of one round of a sampled mechanism. Whose turn it
// is and what hides them come from keys that have nothing to do with each other,
// so that who learns one stream learns nothing about the other.
type Streams struct {
	Sampling *Stream // chooses records
	Noise    *Stream // makes noise
}

// NewStreams returns two streams, each with a key of its own from the operating
// system's cryptographic source.
func NewStreams() *Streams {
	return &Streams{Sampling: NewStream(), Noise: NewStream()}
}

// Reseed gives both streams new keys from the operating system. Do so in every
// round: a copy of the memory, or a virtual machine restored from a snapshot,
// then cannot make the same bits twice.
func (s *Streams) Reseed() {
	reseed(s.Sampling)
	reseed(s.Noise)
}

// Wipe forgets the keys and the bits that were not used. Reading either stream
// then panics, until Reseed.
func (s *Streams) Wipe() {
	s.Sampling.Wipe()
	s.Noise.Wipe()
}
