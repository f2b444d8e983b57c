package seal

import (
	"bytes"
	"crypto/subtle"

	"fedpvi/crypto/internal/wire"
)

// unpack checks a plaintext (context and payload, each with its length, then zeros) and returns the
// payload.
func unpack(plain, context []byte, size int) ([]byte, error) {
	u := unpacker{context: context, size: size, rest: len(plain)}
	payload := u.take(plain)
	return payload, u.fault
}

// An unpacker parses a plaintext chunk by chunk. The first chunk must contain the context and the
// length of the payload.
type unpacker struct {
	context []byte
	size    int // maximum length of the payload in bytes
	rest    int // number of bytes of the plaintext that remain to be parsed
	begun   bool
	length  int // length of the payload
	left    int // number of bytes of the payload that remain to be parsed
	fault   error
}

// take parses the next chunk and returns the part of the payload in it, or nil after an error.
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
