// Package seeded makes reproducible random streams for simulations and tests.
//
// Noise from these streams protects no data, because a reader who knows the seed can remove the
// noise. Only sim and tests may import the package, and a policy test enforces this. A flag or
// configuration file therefore cannot give a daemon a seed.
package seeded

import (
	"crypto/sha256"
	"encoding/binary"

	"fedpvi/dpmech"
	"fedpvi/dpmech/internal/stream"
)

// Stream returns the stream for a seed, a purpose, and indices such as a client and a round.
// Different arguments give independent streams.
func Stream(seed uint64, purpose string, index ...uint64) *dpmech.Stream {
	return stream.New(key(seed, purpose, index))
}

// Rekey restarts s as the stream that Stream(seed, purpose, index...) returns, without allocating a
// new stream.
func Rekey(s *dpmech.Stream, seed uint64, purpose string, index ...uint64) {
	stream.Rekey(s, key(seed, purpose, index))
}

// Streams returns a pair of streams for a sampled mechanism, one that draws the batches and one
// that draws the noise. Different seeds, purposes and indices give independent streams.
func Streams(seed uint64, purpose string, index ...uint64) *dpmech.Streams {
	return &dpmech.Streams{
		Sampling: Stream(seed, purpose+"/sampling", index...),
		Noise:    Stream(seed, purpose+"/noise", index...),
	}
}

func key(seed uint64, purpose string, index []uint64) [stream.KeySize]byte {
	var space [128]byte
	b := append(space[:0], "fedpvi/seeded/v1"...)
	b = binary.LittleEndian.AppendUint64(b, seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(purpose)))
	b = append(b, purpose...)
	for _, i := range index {
		b = binary.LittleEndian.AppendUint64(b, i)
	}
	return sha256.Sum256(b)
}
