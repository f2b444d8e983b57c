package seal

import (
	"bytes"
	"crypto/subtle"

	"fedpvi/crypto/internal/wire"
)

// unpack takes what was sealed apart: the context behind its length, the payload behind its
// length, and zeros.
func unpack(plain, context []byte, size int) ([]byte, error) {
	u := unpacker{context: context, size: size, rest: len(plain)}
	payload := u.take(plain)
	return payload, u.fault
}

// An unpacker takes what was sealed apart chunk by chunk, the first of which has the context
// and the length of the payload.
type unpacker struct {
	context []byte
	size    int // most bytes of the payload
	rest    int // bytes that were not taken yet
	begun   bool
	length  int // of the payload
	left    int // of it
	fault   error
}

// take returns what of the payload is in the next chunk; nil from the first fault on.
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
