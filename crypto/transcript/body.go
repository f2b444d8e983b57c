package transcript

import (
	"crypto/sha256"

	"fedpvi/crypto/internal/wire"
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// MaxBody is the maximum size of a body in bytes. From the study, a receiver computes a smaller
// limit.
const MaxBody = 1 << 30

// A Body identifies an entry's body by its size and hash. Both are in the entry's envelope.
type Body struct {
	Size uint64
	Hash Hash
}

// BodyOf returns the size and the hash of b.
func BodyOf(b []byte) Body { return Body{uint64(len(b)), sha256.Sum256(b)} }

// Append appends the encoding of b.
func (b Body) Append(out []byte) []byte {
	return append(wire.AppendUint64(out, b.Size), b.Hash[:]...)
}

// ReadBody decodes the output of Append. It refuses a body of more than MaxBody bytes.
func ReadBody(r *wire.Reader) (b Body) {
	b.Size = r.Uint64()
	r.Fixed(b.Hash[:])
	if b.Size > MaxBody {
		r.Fail()
	}
	return b
}
