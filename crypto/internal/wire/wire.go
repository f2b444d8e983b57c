// Package wire defines the binary encoding of all signed and sealed messages. Numbers have a fixed
// width and are big-endian. A byte string comes after its length. Each value has exactly one
// encoding, and each encoding stands for exactly one value.
package wire

import "encoding/binary"

// AppendUint16 appends n in two bytes.
func AppendUint16(b []byte, n uint16) []byte { return binary.BigEndian.AppendUint16(b, n) }

// AppendUint64 appends n in eight bytes.
func AppendUint64(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

// AppendBytes appends the length of s (four bytes) and then s. The length must be less than 2³².
func AppendBytes[S string | []byte](b []byte, s S) []byte {
	return append(AppendLength(b, len(s)), s...)
}

// AppendLength appends n in the form in which AppendBytes writes a length.
func AppendLength(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

// A Reader decodes an encoding without copying or allocating. Once a read has failed, all later
// reads fail too, so callers need only check Done at the end.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader returns a reader of b. It does not change b.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Take returns the next n bytes, without copying them. If there are fewer, it returns nil.
func (r *Reader) Take(n int) []byte {
	if r.failed || n < 0 || n > len(r.rest) {
		r.failed = true
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// Fixed fills dst with the next bytes. If there are too few, it leaves dst unchanged.
func (r *Reader) Fixed(dst []byte) { copy(dst, r.Take(len(dst))) }

// Uint8 returns the next byte, or 0 if the read fails.
func (r *Reader) Uint8() uint8 {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 returns the number in the next two bytes, or 0 if the read fails.
func (r *Reader) Uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// Uint64 returns the number in the next eight bytes, or 0 if the read fails.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Bytes returns a byte string of at most limit bytes, without copying it. The read fails if the
// string is longer than limit or than the rest of the input.
func (r *Reader) Bytes(limit int) []byte {
	n := r.Length(limit)
	if r.failed {
		return nil
	}
	return r.Take(n)
}

// Length reads the length of a byte string but not the string itself, which need not be there. The
// read fails if the length exceeds limit.
func (r *Reader) Length(limit int) int {
	b := r.Take(4)
	if b == nil {
		return 0
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(limit) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Len returns the number of bytes that remain to be read.
func (r *Reader) Len() int { return len(r.rest) }

// Fail makes all later reads fail. Callers use it if a value is well formed but not valid.
func (r *Reader) Fail() { r.failed = true }

// Failed reports whether a read has failed.
func (r *Reader) Failed() bool { return r.failed }

// Done reports whether the whole input was read without a failure.
func (r *Reader) Done() bool { return !r.failed && len(r.rest) == 0 }
