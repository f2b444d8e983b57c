package seal

import (
	"bytes"
	"crypto/subtle"

	"fedpvi/crypto/internal/wire"
)

// unpack checks a plaintext and returns the payload. A plaintext is the context and the payload,
// each after its length, followed by zeros.
func unpack(plain, context []byte, size int) ([]byte, error) {
	u := unpacker{context: context, size: size, rest: len(plain)}
	payload := u.take(plain)
	return payload, u.fault
}

// An unpacker parses a plaintext chunk by chunk. The whole context and the length of the payload
// must be in the first chunk.
type unpacker struct {
	context []byte
	size    int // maximum length of a payload in bytes
	rest    int // how many bytes of the plaintext are still to be parsed
	begun   bool
	length  int // length of the payload
	left    int // how many bytes of the payload are still to be parsed
	fault   error
}

// take parses the next chunk and returns the part of the payload that is in it. After an error, it
// returns nil.
func (u *unpacker) take(chunk []byte) []byte {
	r := wire.NewReader(chunk)
	u.rest -= len(chunk)
	if !u.begun {
		u.begin(r)
	}
	payload := r.Take(min(u.left, r.Len()))
	u.left -= len(payload)
	if u.fault == nil && len(bytes.Trim(r.Take(r.Len()), "\x00")) != 0 {
		u.fault = ErrForm
	}
	if u.fault != nil {
		return nil
	}
	return payload
}

func (u *unpacker) begin(r *wire.Reader) {
	u.begun = true
	bound := r.Bytes(MaxContext)
	n := r.Length(u.size)
	switch {
	case r.Failed() || n > r.Len()+u.rest:
		u.fault = ErrForm
	case subtle.ConstantTimeCompare(bound, u.context) != 1:
		u.fault = ErrContext
	default:
		u.length, u.left = n, n
	}
}
