package dpmech

import (
	"crypto/rand"

	"fedpvi/dpmech/internal/stream"
)

// A Stream is a source of uniform bits for samplers and noise. It is not safe
// for concurrent use; give every goroutine, and every purpose, its own.
type Stream = stream.Stream

// NewStream returns a stream keyed by the operating system's cryptographic
// source. It is the only way for a daemon to get one.
func NewStream() *Stream {
	var key [stream.KeySize]byte
	rand.Read(key[:]) // never fails: crypto/rand aborts the program instead
	s := stream.New(key)
	clear(key[:])
	return s
}
