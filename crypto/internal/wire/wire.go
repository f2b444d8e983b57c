// Package wire defines the binary encoding of all signed and sealed messages. Numbers have a fixed
// width and are big-endian. A byte string is preceded by its length. Every value has exactly one
// encoding, and every encoding represents exactly one value.
package wire

import "encoding/binary"

// AppendUint16 appends n in two bytes.
func AppendUint16(b []byte, n uint16) []byte { return binary.BigEndian.AppendUint16(b, n) }

// AppendUint64 appends n in eight bytes.
func AppendUint64(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

// AppendBytes appends the length of s in four bytes, then s. The length must be less than 2³².
func AppendBytes[S string | []byte](b []byte, s S) []byte {
	return append(AppendLength(b, len(s)), s...)
}

// AppendLength appends n as AppendBytes writes a length.
func AppendLength(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

// A Reader decodes an encoding without copying or allocating. After a failed read, all later reads
// fail too, so callers need to check only Done at the end.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader returns a reader of b. The reader does not change b.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Take returns the next n bytes, which share memory with the input, or nil if there are fewer.
func (r *Reader) Take(n int) []byte {
	if r.failed || n < 0 || n > len(r.rest) {
		r.failed = true
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// Fixed fills dst with the next bytes, or leaves it unchanged if there are too few.
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

// Bytes returns a byte string of at most limit bytes, which shares memory with the input. The read
// fails if the length exceeds the limit or the rest of the input.
func (r *Reader) Bytes(limit int) []byte {
	n := r.Length(limit)
	if r.failed {
		return nil
	}
	return r.Take(n)
}

// Length reads the length of a byte string without the string, which may be missing. The read fails
// if the length exceeds the limit.
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

// Fail makes all later reads fail, after a value that is well formed but not valid.
func (r *Reader) Fail() { r.failed = true }

// Failed reports whether a read has failed.
func (r *Reader) Failed() bool { return r.failed }

// Done reports whether the whole input was read and no read failed.
func (r *Reader) Done() bool { return !r.failed && len(r.rest) == 0 }
